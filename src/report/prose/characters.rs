//! Characters of numbers: digits of every script, and the marks that stand between them.

/// The zero of every block of ten decimal digits, in order.
const ZEROS: &[char] = &[
    '0',
    '\u{660}',
    '\u{6F0}',
    '\u{7C0}',
    '\u{966}',
    '\u{9E6}',
    '\u{A66}',
    '\u{AE6}',
    '\u{B66}',
    '\u{BE6}',
    '\u{C66}',
    '\u{CE6}',
    '\u{D66}',
    '\u{DE6}',
    '\u{E50}',
    '\u{ED0}',
    '\u{F20}',
    '\u{1040}',
    '\u{1090}',
    '\u{17E0}',
    '\u{1810}',
    '\u{1946}',
    '\u{19D0}',
    '\u{1A80}',
    '\u{1A90}',
    '\u{1B50}',
    '\u{1BB0}',
    '\u{1C40}',
    '\u{1C50}',
    '\u{A620}',
    '\u{A8D0}',
    '\u{A900}',
    '\u{A9D0}',
    '\u{A9F0}',
    '\u{AA50}',
    '\u{ABF0}',
    '\u{FF10}',
    '\u{1D7CE}',
    '\u{1D7D8}',
    '\u{1D7E2}',
    '\u{1D7EC}',
    '\u{1D7F6}',
];

/// The digit that a character is, as an ASCII character.
pub(super) fn digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let block = ZEROS.partition_point(|zero| *zero <= c).checked_sub(1)?;
    let value = u32::from(c) - u32::from(*ZEROS.get(block)?);
    char::from_digit(value, 10)
}

/// Characters that are not seen: directions, joiners, soft hyphens. They stand between a number
/// and its unit in right-to-left text and say nothing about its value.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' | '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}' | '\u{FEFF}'
    )
}

/// A blank inside a line.
pub(super) const fn is_blank(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
    )
}

/// A letter that digits are glued to in identifiers, such as the `c` of `c1`. Letters of other
/// scripts stand directly before numbers in prose.
pub(super) fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
        || (matches!(c, '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}') && c.is_alphabetic())
}

/// By how many powers of ten an East Asian numeral multiplies the digits before it.
pub(super) const fn myriad(c: char) -> Option<u32> {
    match c {
        '万' | '萬' | '만' => Some(4),
        '亿' | '億' | '억' => Some(8),
        _ => None,
    }
}

/// What stands between two groups of digits of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Point,
    Comma,
    /// `'` and `’`.
    Apostrophe,
    Underscore,
    /// The Arabic decimal mark.
    ArabicDecimal,
    /// The Arabic mark between thousands.
    ArabicThousands,
    /// The comma of Arabic text, also found in the place of the two above.
    ArabicComma,
    /// The comma of East Asian text, which separates the numbers of a list.
    WideComma,
    /// A blank at which a line may break; between two numbers as often as inside one.
    Space,
    /// A blank at which no line breaks: inside a number.
    FixedSpace,
}

impl Separator {
    pub(super) const fn of(c: char) -> Option<Self> {
        Some(match c {
            '.' | '\u{FF0E}' => Self::Point,
            ',' => Self::Comma,
            '\'' | '’' | '\u{FF07}' => Self::Apostrophe,
            '_' => Self::Underscore,
            '\u{66B}' => Self::ArabicDecimal,
            '\u{66C}' => Self::ArabicThousands,
            '\u{60C}' => Self::ArabicComma,
            '\u{FF0C}' => Self::WideComma,
            ' ' => Self::Space,
            '\u{A0}' | '\u{2007}' | '\u{2008}' | '\u{2009}' | '\u{200A}' | '\u{202F}' => {
                Self::FixedSpace
            }
            _ => return None,
        })
    }

    /// Whether a fraction can begin after it.
    pub(super) const fn is_decimal(self) -> bool {
        matches!(
            self,
            Self::Point | Self::Comma | Self::ArabicDecimal | Self::ArabicComma
        )
    }

    /// Whether thousands can be set apart by it.
    pub(super) const fn is_grouping(self) -> bool {
        !matches!(self, Self::ArabicDecimal)
    }

    /// Whether thousands can be set apart in twos by it, after the last three digits.
    pub(super) const fn is_indian(self) -> bool {
        matches!(
            self,
            Self::Comma | Self::ArabicThousands | Self::ArabicComma
        )
    }

    /// A blank of either kind.
    pub(super) const fn is_blank(self) -> bool {
        matches!(self, Self::Space | Self::FixedSpace)
    }

    /// Whether two numbers of a list can be separated by it alone: the plain comma only where
    /// there are more than two.
    pub(super) const fn separates(self, groups: usize) -> bool {
        match self {
            Self::Space | Self::WideComma | Self::ArabicComma => true,
            Self::Comma => groups > 2,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_have_their_value() {
        for text in [
            "0123456789",
            "٠١٢٣٤٥٦٧٨٩",
            "۰۱۲۳۴۵۶۷۸۹",
            "०१२३४५६७८९",
            "০১২৩৪৫৬৭৮৯",
            "๐๑๒๓๔๕๖๗๘๙",
            "０１２３４５６７８９",
        ] {
            let read: String = text.chars().filter_map(digit).collect();
            assert_eq!(read, "0123456789", "{text}");
        }
        for c in ['a', '五', '⁵', '½', 'Ⅳ', '\u{66A}', '/', ':'] {
            assert_eq!(digit(c), None, "{c}");
        }
    }

    #[test]
    fn zeros_are_in_order_and_are_numbers() {
        assert!(ZEROS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ZEROS.iter().all(|zero| zero.is_numeric()));
    }
}
