//! A file of a language, and what is printed with it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loopmeter::document::Document;
use loopmeter::report::Locale;

const TAGS: [&str; 4] = ["en", "ar", "uk", "ja"];

fuzz_target!(|bytes: &[u8]| {
    let Some((first, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let tag = TAGS[usize::from(*first) % TAGS.len()];
    let read = Document::parse("fuzzed.toml", text)
        .and_then(|document| Locale::from_document(tag, &document));
    match read {
        Ok(locale) => {
            for number in [0, 1, 2, 5, 1_234_567, u64::MAX] {
                let _ = (
                    locale.count(number),
                    locale.counted("plot.turns", number, &[]),
                );
            }
            let keys: Vec<_> = locale
                .variants()
                .map(|variant| variant.key.to_owned())
                .collect();
            for key in keys {
                let _ = locale.text(&key, &[("n", "7")]);
            }
        }
        Err(problems) => assert!(!format!("{problems:#}").is_empty()),
    }
});
