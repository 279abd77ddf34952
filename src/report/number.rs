//! Numbers as the readers of a language write them: by CLDR through ICU4X, then house style.
//!
//! The formatter of plain numbers is ICU4X's. The patterns of dollars and percentages stand in
//! the locale's file, because ICU4X rounds dollars to cents and has no way to tell it otherwise.

use fixed_decimal::{Decimal as Fixed, Sign as FixedSign};
use icu_decimal::options::{DecimalFormatterOptions, GroupingStrategy};
use icu_decimal::{DecimalFormatter, DecimalFormatterPreferences};
use icu_locale_core::Locale as Tag;
use rust_decimal::Decimal;

use super::file::{Dollars, Grouping, HouseFile, NumbersFile};
use crate::results::{Amount, Figure, Figures, ShownSign, Unit};

/// The place of the number in a pattern.
const NUMBER: &str = "{n}";

/// Whose rules numbers follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum NumberStyle {
    /// Those of the published translation: dollars as the program prints them, for example
    #[default]
    House,
    /// Those of the Unicode CLDR alone
    Cldr,
}

/// Which digits numbers have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Digits {
    /// 0 to 9
    #[default]
    Latin,
    /// Those that CLDR has for the language by default
    Customary,
    /// Those of the language's script
    Native,
}

/// Writes the numbers of one language.
#[derive(Debug)]
pub(super) struct Numbers {
    formatter: DecimalFormatter,
    /// What the formatter puts between groups and before decimals.
    marks: Marks,
    /// What is put there instead.
    house: Marks,
    groups_four: bool,
    dollars: Dollars,
    usd: String,
    percent: String,
    signs: [String; 2],
}

/// The marks in a number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Marks {
    group: String,
    decimal: String,
}

/// Why a language's numbers cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("no number format for `{tag}`: {reason}")]
pub(super) struct NoNumbers {
    tag: String,
    reason: String,
}

impl Numbers {
    /// Numbers for `tag` by its file.
    pub(super) fn new(
        tag: &str,
        (file, house): (&NumbersFile, &HouseFile),
        style: NumberStyle,
        digits: Digits,
    ) -> Result<Self, NoNumbers> {
        let nothing = HouseFile::default();
        let house = match style {
            NumberStyle::House => house,
            NumberStyle::Cldr => &nothing,
        };
        let formatter = formatter(tag, file, digits, house.grouping)?;
        let marks = Marks::of(&formatter);
        let usd_latin = file.usd_latin.as_ref().filter(|_| digits == Digits::Latin);
        Ok(Self {
            house: Marks {
                group: house.group.clone().unwrap_or_else(|| marks.group.clone()),
                decimal: house
                    .decimal
                    .clone()
                    .unwrap_or_else(|| marks.decimal.clone()),
            },
            groups_four: house.grouping == Grouping::Always,
            dollars: house.dollars,
            usd: usd_latin.unwrap_or(&file.usd).clone(),
            percent: house.percent.as_ref().unwrap_or(&file.percent).clone(),
            signs: match style {
                NumberStyle::House => ["+".to_owned(), Figures::ENGLISH.minus.to_owned()],
                NumberStyle::Cldr => signs(&formatter),
            },
            marks,
            formatter,
        })
    }

    /// A number with its sign and the mark of its unit.
    pub(super) fn amount(&self, amount: &Amount) -> String {
        if amount.unit == Unit::Usd && self.dollars == Dollars::Program {
            return Figures::ENGLISH.say(&Figure::Number(*amount));
        }
        let pattern = match amount.unit {
            Unit::None => NUMBER,
            Unit::Usd => &self.usd,
            Unit::Times => "{n}×",
            Unit::Percent => &self.percent,
        };
        let sign = match amount.shown_sign() {
            ShownSign::None => "",
            ShownSign::Plus => &self.signs[0],
            ShownSign::Minus => &self.signs[1],
        };
        // The sign stands first, behind any mark of direction.
        let begin = pattern.trim_start_matches(['\u{200e}', '\u{200f}']);
        let direction = &pattern[..pattern.len() - begin.len()];
        let number = self.unsigned(amount.value);
        format!("{direction}{sign}{}", begin.replace(NUMBER, &number))
    }

    fn unsigned(&self, value: Decimal) -> String {
        let digits = value.abs().to_string();
        let Ok(fixed) = digits.parse::<Fixed>() else {
            return digits;
        };
        let written = self.formatter.format(&fixed).to_string();
        let (whole, decimals) = match written.split_once(&self.marks.decimal) {
            Some((whole, decimals)) if digits.contains('.') => (whole, Some(decimals)),
            _ => (written.as_str(), None),
        };
        let mut text = self.grouped(whole);
        if let Some(decimals) = decimals {
            text.push_str(&self.house.decimal);
            text.push_str(decimals);
        }
        text
    }

    /// The whole part with the house's mark between its groups.
    fn grouped(&self, whole: &str) -> String {
        let group = &self.house.group;
        let digits: Vec<char> = whole.chars().collect();
        match digits.as_slice() {
            [first, rest @ ..] if self.groups_four && rest.len() == 3 => {
                format!("{first}{group}{}", rest.iter().collect::<String>())
            }
            _ => whole.replace(&self.marks.group, group),
        }
    }
}

fn formatter(
    tag: &str,
    file: &NumbersFile,
    digits: Digits,
    grouping: Grouping,
) -> Result<DecimalFormatter, NoNumbers> {
    let refuse = |reason: String| NoNumbers {
        tag: tag.to_owned(),
        reason,
    };
    let system = match digits {
        Digits::Latin => Some("latn"),
        Digits::Customary => None,
        Digits::Native => file.native.as_deref(),
    };
    let asked = system.map_or_else(|| tag.to_owned(), |system| format!("{tag}-u-nu-{system}"));
    let tag: Tag = asked
        .parse()
        .map_err(|error| refuse(format!("{error:?}")))?;
    let mut options = DecimalFormatterOptions::default();
    options.grouping_strategy = Some(match grouping {
        Grouping::Five => GroupingStrategy::Min2,
        Grouping::Locale | Grouping::Always => GroupingStrategy::Auto,
    });
    DecimalFormatter::try_new(DecimalFormatterPreferences::from(&tag), options)
        .map_err(|error| refuse(error.to_string()))
}

impl Marks {
    /// The marks that a formatter uses, read off a number that has both.
    fn of(formatter: &DecimalFormatter) -> Self {
        let probe = "1234567.8".parse::<Fixed>().unwrap_or_default();
        let written = formatter.format(&probe).to_string();
        let marks: Vec<&str> = written
            .split(char::is_numeric)
            .filter(|mark| !mark.is_empty())
            .collect();
        Self {
            group: marks.first().copied().unwrap_or_default().to_owned(),
            decimal: marks.last().copied().unwrap_or_default().to_owned(),
        }
    }
}

/// The formatter's plus and minus, with the marks of direction that belong to them.
fn signs(formatter: &DecimalFormatter) -> [String; 2] {
    [FixedSign::Positive, FixedSign::Negative].map(|sign| {
        let one = Fixed::from(1).with_sign(sign);
        let written = formatter.format(&one).to_string();
        written
            .chars()
            .filter(|letter| !letter.is_numeric())
            .collect()
    })
}
