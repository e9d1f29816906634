//! The options of a match.

use borsh::BorshSerialize;

use crate::{GameType, SetupError};

/// The kind of value that an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number in this range, both ends included.
    Int(i64, i64),
    /// `true` or `false`.
    Flag,
}

impl std::fmt::Display for OptionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Int(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::Flag => f.write_str("true or false"),
        }
    }
}

/// An option that a match of a game may set.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// The option's name, in `snake_case`.
    pub name: &'static str,
    /// The values that it takes.
    pub kind: OptionKind,
    /// The default value.
    pub default: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
}

impl OptionSpec {
    /// Returns the canonical spelling of `value`, if the option allows the value.
    fn canonical(&self, value: &str) -> Option<String> {
        match self.kind {
            OptionKind::Choice(words) => words.contains(&value).then(|| value.to_owned()),
            OptionKind::Int(min, max) => {
                value.parse().ok().filter(|number| (min..=max).contains(number)).map(|n: i64| n.to_string())
            }
            OptionKind::Flag => value.parse().ok().map(|flag: bool| flag.to_string()),
        }
    }
}

/// Every option of a game with its value in one match, in the game type's order.
#[derive(Debug, Clone, PartialEq, Eq, Default, BorshSerialize)]
pub struct Options(Vec<(&'static str, String)>);

impl Options {
    /// Checks the values that the caller gave, and fills in the defaults.
    ///
    /// # Errors
    /// An unknown option, a value that the option does not allow, or more than one value.
    pub fn resolve<'a>(
        game_type: &GameType,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, SetupError> {
        let mut values = vec![None; game_type.options.len()];
        for (name, value) in given {
            let Some(at) = game_type.options.iter().position(|spec| spec.name == name) else {
                let known: Vec<_> = game_type.options.iter().map(|spec| spec.name).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(SetupError::UnknownOption { game: game_type.id, name: name.to_owned(), known });
            };
            let spec = &game_type.options[at];
            let wrong =
                |value: String, expected| SetupError::OptionValue { name: spec.name, value, expected };
            let canonical =
                spec.canonical(value).ok_or_else(|| wrong(value.to_owned(), spec.kind.to_string()))?;
            if let Some(before) = values[at].replace(canonical) {
                return Err(wrong(format!("{before}, {value}"), "one value".to_owned()));
            }
        }
        let filled = |(spec, value): (&OptionSpec, Option<String>)| {
            (spec.name, value.unwrap_or_else(|| spec.default.to_owned()))
        };
        Ok(Self(game_type.options.iter().zip(values).map(filled).collect()))
    }

    /// Returns names and values, in the game type's order.
    #[must_use]
    pub fn all(&self) -> &[(&'static str, String)] {
        &self.0
    }

    /// Returns the value of an option.
    ///
    /// # Panics
    /// When the game type has no such option. This is a bug of the game.
    #[must_use]
    pub fn word(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| *known == name);
        &found.expect("a game asks for the options of its type").1
    }

    /// Returns the value of a whole-number option.
    ///
    /// # Panics
    /// When the game type has no such option of this kind.
    #[must_use]
    pub fn int(&self, name: &str) -> i64 {
        self.word(name).parse().expect("resolve has checked the number")
    }

    /// Returns the value of a flag.
    ///
    /// # Panics
    /// When the game type has no such option of this kind.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.word(name).parse().expect("resolve has checked the flag")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setup;
    use crate::testkit::toy::Toy;

    const OPTIONS: &[OptionSpec] = &[
        OptionSpec { name: "words", kind: OptionKind::Choice(&["one", "two"]), default: "two", doc: "" },
        OptionSpec { name: "number", kind: OptionKind::Int(-1, 1000), default: "5", doc: "" },
        OptionSpec { name: "flag", kind: OptionKind::Flag, default: "false", doc: "" },
    ];
    const TYPE: GameType = GameType { options: OPTIONS, ..Toy::TYPE };

    #[test]
    fn option_values_have_one_canonical_spelling() {
        let cases = [
            ("words", "one", Some("one")),
            ("words", "One", None),
            ("number", "-1", Some("-1")),
            ("number", "-2", None),
            ("number", "1000", Some("1000")),
            ("number", "1001", None),
            ("number", "+07", Some("7")),
            ("number", "99999999999999999999", None),
            ("number", "few", None),
            ("flag", "true", Some("true")),
            ("flag", "yes", None),
        ];
        for (name, given, canonical) in cases {
            let resolved = Options::resolve(&TYPE, [(name, given)]);
            let word = resolved.as_ref().ok().map(|options| options.word(name));
            assert_eq!(word, canonical, "{name} = {given}");
        }
    }

    #[test]
    fn omitted_options_have_defaults_and_errors_name_the_option() {
        let options = Options::resolve(&TYPE, [("flag", "true")]).expect("it is an option");
        assert_eq!((options.word("words"), options.int("number"), options.flag("flag")), ("two", 5, true));
        let refused =
            |name, value| Options::resolve(&TYPE, [(name, value)]).expect_err("it is refused").to_string();
        assert!(refused("colour", "red").contains("words, number, flag"), "{}", refused("colour", "red"));
        assert!(refused("number", "1001").contains("a whole number from -1 to 1000"));
        let twice = Options::resolve(&TYPE, [("words", "one"), ("flag", "true"), ("words", "one")]);
        let twice = twice.expect_err("it is refused").to_string();
        assert_eq!(twice, "option `words` must be one value; got `one, one`");
    }
}
