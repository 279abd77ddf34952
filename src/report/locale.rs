//! A language: its words, its numbers, its direction.

use std::sync::LazyLock;

use icu_locale_core::Locale as Tag;
use icu_plurals::{PluralRules, PluralRulesOptions};
use include_dir::{Dir, include_dir};
use rust_decimal::Decimal;

use super::file::{HouseFile, LocaleFile, NumbersFile, Written};
use super::message::{Args, Messages, Variant, fill, name};
use super::number::{Digits, NumberStyle, Numbers};
use crate::document::{Document, Problems, suggest};
use crate::experiment::Experiment;
use crate::money::PicoUsd;
use crate::results::{Amount, Cell, Direction, Figure, Kind, Sign, Unit};

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/locales");

/// The messages that the translations are translations of.
static ENGLISH: LazyLock<Messages> = LazyLock::new(|| {
    let english = Locale::load("en").map(|locale| locale.messages);
    english.unwrap_or_default()
});

/// One language of the readers.
///
/// ```
/// use loopmeter::report::Locale;
///
/// let greek = Locale::load("el")?;
/// assert_eq!(greek.count(88_649), "88.649");
/// assert_eq!(greek.counted("plot.n_turns", 1, &[]), "1 turn");
/// # Ok::<(), loopmeter::report::LocaleError>(())
/// ```
#[derive(Debug)]
pub struct Locale {
    tag: String,
    name: String,
    direction: Direction,
    files: (NumbersFile, HouseFile),
    numbers: Numbers,
    messages: Messages,
    rules: PluralRules,
}

/// Why there is no such language.
#[derive(Debug, thiserror::Error)]
pub enum LocaleError {
    /// No file is called so.
    #[error("no locale {tag:?}; {help}")]
    Unknown {
        /// What was asked for.
        tag: String,
        /// What there is instead.
        help: String,
    },
    /// Its file is wrong.
    #[error(transparent)]
    Invalid(#[from] Problems),
}

impl Locale {
    /// The tags of all languages, in alphabetical order: `ar`, …, `zh-Hant`.
    #[must_use]
    pub fn tags() -> Vec<&'static str> {
        let names = EMBEDDED.files().filter_map(|file| file.path().to_str());
        let mut tags: Vec<_> = names
            .filter_map(|name| name.strip_suffix(".toml"))
            .collect();
        tags.sort_unstable();
        tags
    }

    /// The tag of a language as its file spells it: `pt-br` is `pt-BR`.
    ///
    /// # Errors
    /// [`LocaleError::Unknown`] with the tags that exist.
    pub fn find(tag: &str) -> Result<&'static str, LocaleError> {
        let tags = Self::tags();
        let wanted = tag.replace('_', "-");
        let found = tags
            .iter()
            .find(|known| known.eq_ignore_ascii_case(&wanted));
        found.copied().ok_or_else(|| {
            let known: Vec<String> = tags.iter().map(|known| (*known).to_owned()).collect();
            LocaleError::Unknown {
                tag: tag.to_owned(),
                help: suggest(tag, "locales", &known).unwrap_or_default(),
            }
        })
    }

    /// The language of this tag, with numbers in house style and Latin digits.
    ///
    /// # Errors
    /// [`LocaleError::Unknown`] with the tags that exist.
    pub fn load(tag: &str) -> Result<Self, LocaleError> {
        let tag = Self::find(tag)?;
        let file = EMBEDDED.get_file(format!("{tag}.toml"));
        let text = file.and_then(include_dir::File::contents_utf8);
        let document =
            Document::parse(&format!("<embedded {tag}.toml>"), text.unwrap_or_default())?;
        Ok(Self::from_document(tag, &document)?)
    }

    /// The language of a file.
    ///
    /// # Errors
    /// Everything that is wrong in the file; a tag that is none, or that CLDR does not have.
    pub fn from_document(tag: &str, document: &Document) -> Result<Self, Problems> {
        let file: LocaleFile = document.decode()?;
        let mut problems = Vec::new();
        let mut messages = Messages::default();
        let sections = [
            ("column", &file.column),
            ("compared", &file.compared),
            ("value", &file.value),
            ("case", &file.case),
            ("table", &file.table),
            ("plot", &file.plot),
            ("report", &file.report),
            ("experiment", &file.experiment),
        ];
        for section in sections {
            messages.add(section, document, &mut problems);
        }
        Problems::check(problems)?;
        let refuse = |reason: &str| {
            let help = "name the file after a BCP 47 tag of the CLDR, such as `pt-BR`";
            Problems::one(document.problem("", reason, Some(help)))
        };
        let parsed: Tag = tag
            .parse()
            .map_err(|_| refuse("the file's name is no tag"))?;
        let rules = PluralRules::try_new((&parsed).into(), PluralRulesOptions::default())
            .map_err(|error| refuse(&error.to_string()))?;
        let files = (file.numbers, file.house);
        let (style, digits) = (NumberStyle::default(), Digits::default());
        let numbers = Numbers::new(tag, (&files.0, &files.1), style, digits)
            .map_err(|error| refuse(&error.to_string()))?;
        Ok(Self {
            tag: tag.to_owned(),
            name: file.name,
            direction: match file.direction {
                Written::Ltr => Direction::LeftToRight,
                Written::Rtl => Direction::RightToLeft,
            },
            files,
            numbers,
            messages,
            rules,
        })
    }

    /// The same language with its numbers in another style.
    #[must_use]
    pub fn with_numbers(mut self, style: NumberStyle, digits: Digits) -> Self {
        let files = (&self.files.0, &self.files.1);
        // The same tag was accepted before; digits that do not exist leave the numbers alone.
        if let Ok(numbers) = Numbers::new(&self.tag, files, style, digits) {
            self.numbers = numbers;
        }
        self
    }

    /// The BCP 47 tag, such as `pt-BR`.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The language's name in the language itself.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which way it is written.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// The value of HTML's `dir`: `ltr` or `rtl`.
    #[must_use]
    pub const fn dir(&self) -> &'static str {
        match self.direction {
            Direction::LeftToRight => "ltr",
            Direction::RightToLeft => "rtl",
        }
    }

    /// The message of this key, such as `plot.turns`, with `args` in its places. An unknown key
    /// is given back, so that it is seen; a test holds that none is used.
    #[must_use]
    pub fn text(&self, key: &str, args: Args<'_>) -> String {
        fill(self.messages.get(key).unwrap_or(key), args)
    }

    /// The message of this key in the plural form for `number`, which stands at `{n}`.
    #[must_use]
    pub fn counted(&self, key: &str, number: u64, args: Args<'_>) -> String {
        let text = self.messages.counted(key, number, &self.rules);
        let counted = self.count(number);
        let args = [args, &[("n", counted.as_str())]].concat();
        fill(text.unwrap_or(key), &args)
    }

    /// The message of this key, if there is one.
    pub(super) fn message(&self, key: &str) -> Option<&str> {
        self.messages.get(key)
    }

    /// Every form of every message, ordered by key.
    pub fn variants(&self) -> impl Iterator<Item = Variant<'_>> {
        self.messages.variants()
    }

    /// The plural categories that whole numbers have in the language, such as `one` and `other`.
    #[must_use]
    pub fn plural_categories(&self) -> Vec<&'static str> {
        self.rules.categories().map(name).collect()
    }

    /// A number with the decimals that it has.
    #[must_use]
    pub fn number(&self, value: Decimal) -> String {
        self.amount(value, Unit::None)
    }

    /// A whole number.
    #[must_use]
    pub fn count(&self, number: u64) -> String {
        self.number(Decimal::from(number))
    }

    /// An amount of US dollars with the decimals that the program prints.
    #[must_use]
    pub fn usd(&self, amount: PicoUsd) -> String {
        self.figure(&Figure::of(&Cell::Usd(amount), Kind::Usd, Sign::Amount))
    }

    /// A percentage with the decimals that it has: 75 is `75 %`.
    #[must_use]
    pub fn percent(&self, value: Decimal) -> String {
        self.amount(value, Unit::Percent)
    }

    /// A factor with the decimals that it has: 3.7 is `3.7×`.
    #[must_use]
    pub fn times(&self, value: Decimal) -> String {
        self.amount(value, Unit::Times)
    }

    pub(super) fn amount(&self, value: Decimal, unit: Unit) -> String {
        let sign = Sign::Amount;
        self.numbers.amount(&Amount { value, unit, sign })
    }

    /// What a cell says: a number in the language's figures, yes or no; other words as they are.
    #[must_use]
    pub fn figure(&self, figure: &Figure<'_>) -> String {
        match figure {
            Figure::Missing => "—".to_owned(),
            Figure::Flag(true) => self.text("value.flag.yes", &[]),
            Figure::Flag(false) => self.text("value.flag.no", &[]),
            Figure::Words(words) => words.clone().into_owned(),
            Figure::Number(amount) => self.numbers.amount(amount),
        }
    }

    /// A piece from left to right, such as a formula or a signed number, kept together inside
    /// this language's text. In a language from left to right it stays as it is.
    #[must_use]
    pub fn ltr(&self, piece: &str) -> String {
        match self.direction {
            Direction::LeftToRight => piece.to_owned(),
            Direction::RightToLeft => format!("\u{2066}{piece}\u{2069}"),
        }
    }

    /// The title of an experiment.
    #[must_use]
    pub fn title(&self, experiment: &Experiment) -> String {
        self.translated(experiment, "title", experiment.title())
            .map_or_else(|| experiment.title().to_owned(), str::to_owned)
    }

    /// What question an experiment answers.
    #[must_use]
    pub fn about(&self, experiment: &Experiment) -> String {
        self.translated(experiment, "about", experiment.about())
            .map_or_else(|| experiment.about().to_owned(), str::to_owned)
    }

    /// What stands above an experiment's plot.
    #[must_use]
    pub fn plot_title(&self, experiment: &Experiment) -> String {
        let Some(plot) = &experiment.readout().plot else {
            return self.title(experiment);
        };
        if plot.title == experiment.title() {
            return self.title(experiment);
        }
        let known = ENGLISH.key_of("plot.title.", &plot.title);
        let translated = known.and_then(|key| self.message(key));
        translated.unwrap_or(&plot.title).to_owned()
    }

    /// The translation of what an experiment says, if that is what was translated: an experiment
    /// of somebody's own may have the name of one that ships, and its words are other words.
    pub(super) fn translated(
        &self,
        experiment: &Experiment,
        part: &str,
        said: &str,
    ) -> Option<&str> {
        let key = format!("experiment.{}.{part}", experiment.name());
        self.message(&key)
            .filter(|_| ENGLISH.get(&key) == Some(said))
    }
}
