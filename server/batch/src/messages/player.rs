//! Converts players to and from messages.

use boardwire_api::v1::player::Kind;
use boardwire_api::{Error, v1};
use boardwire_bots::{
    Bot, DEFAULT_DETERMINIZATIONS, DEFAULT_PLAYOUTS, MAX_DETERMINIZATIONS, MAX_PLAYOUTS, UnknownBot,
};

use crate::players::Player;
use crate::tables::{STRONG, Table, Tables};

/// The bots that have a parameter, each with its parameter. `worlds` is the number of determinizations.
const PARAMETERS: [(&str, &str); 3] = [("greedy", "worlds"), ("mc", "playouts"), (SEARCH, "playouts")];
/// The bot that also has a policy.
const SEARCH: &str = "search";

/// Returns the bots, with the ranges of their parameters. `strong` is one of them if it has networks.
#[must_use]
pub fn bots(tables: &Tables) -> Vec<v1::BotSpec> {
    let playouts = (DEFAULT_PLAYOUTS, MAX_PLAYOUTS);
    let ranges = [(DEFAULT_DETERMINIZATIONS, MAX_DETERMINIZATIONS), playouts, playouts];
    let with_parameter = |((bot, name), (default_value, max)): ((&str, &str), (u32, u32))| v1::BotSpec {
        name: bot.to_owned(),
        parameters: vec![v1::BotParameter { name: name.to_owned(), default_value, min: 1, max }],
    };
    let without_parameter = |bot: String| v1::BotSpec { name: bot, parameters: Vec::new() };
    let random = without_parameter(Bot::Random.to_string());
    let strong = tables.has_opponents().then(|| without_parameter(STRONG.to_owned()));
    let with_parameters = PARAMETERS.into_iter().zip(ranges).map(with_parameter);
    std::iter::once(random).chain(with_parameters).chain(strong).collect()
}

/// Returns the player that a request names for `seat` of a table.
///
/// # Errors
/// No bot or policy has this name, or the policy cannot play at this table.
pub fn player(tables: &Tables, table: &Table, seat: usize, given: &v1::Player) -> Result<Player, Error> {
    if let Some(Kind::Agent(_)) = given.kind {
        return Ok(Player::Agent);
    }
    bot(tables, table, given).map(Player::Bot).map_err(|UnknownBot { given, expected }| Error::BotUnknown {
        seat,
        given,
        expected: format!("agent, {expected}"),
    })
}

/// Returns the bot that a request names in a field where no agent is allowed.
///
/// # Errors
/// No bot or policy has this name, or the policy cannot play at this table.
pub fn bot(tables: &Tables, table: &Table, given: &v1::Player) -> Result<Bot, UnknownBot> {
    if let Some(Kind::Bot(v1::player::Bot { name, parameters, policy })) = &given.kind {
        let valid = |parameter: &String| PARAMETERS.contains(&(name.as_str(), parameter.as_str()));
        let wrong_policy = policy.contains(':') || (name == SEARCH) == policy.is_empty();
        if name.contains(':') || wrong_policy || !parameters.keys().all(valid) {
            return Err(UnknownBot { given: player_name(given), expected: UnknownBot::KNOWN.to_owned() });
        }
    }
    tables.bot(table, &player_name(given))
}

/// Returns the name of a player in the form of command lines: `agent`, `mc:160`, `policy:lion:argmax`, `search:lion:40`.
#[must_use]
pub fn player_name(player: &v1::Player) -> String {
    match &player.kind {
        None => "unset".to_owned(),
        Some(Kind::Agent(_)) => Player::Agent.to_string(),
        Some(Kind::Bot(v1::player::Bot { name, parameters, policy })) => {
            let first = if policy.is_empty() { name.clone() } else { format!("{name}:{policy}") };
            let suffix = |(parameter, value): (&String, &u32)| {
                let valid = PARAMETERS.contains(&(name.as_str(), parameter.as_str()));
                if valid { format!(":{value}") } else { format!(":{parameter}={value}") }
            };
            parameters.iter().fold(first, |name, parameter| name + &suffix(parameter))
        }
        Some(Kind::Policy(v1::player::Policy { name, argmax })) => {
            format!("policy:{name}{}", if *argmax { ":argmax" } else { "" })
        }
    }
}

/// Converts a player to a message.
#[must_use]
pub fn player_message(player: &Player) -> v1::Player {
    parse_player(&player.to_string())
}

/// Converts a bot to a message.
#[must_use]
pub fn bot_message(bot: &Bot) -> v1::Player {
    parse_player(&bot.to_string())
}

/// Returns the messages of players with these names.
#[cfg(any(test, feature = "testkit"))]
#[must_use]
pub fn players(names: &[&str]) -> Vec<v1::Player> {
    names.iter().map(|name| parse_player(name)).collect()
}

/// Returns the message for a name in the form of [`player_name`]. Any other name counts as the name of a bot.
#[must_use]
pub fn parse_player(name: &str) -> v1::Player {
    let bot = |name: &str, policy: &str, parameter: Option<(&str, u32)>| {
        let parameters = parameter.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Kind::Bot(v1::player::Bot { name: name.to_owned(), parameters, policy: policy.to_owned() })
    };
    let number = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok())?;
    let kind = match name.split_once(':') {
        None if name == "agent" => Kind::Agent(v1::player::Agent {}),
        Some(("policy", rest)) if !rest.is_empty() => {
            let argmax = rest.strip_suffix(":argmax");
            Kind::Policy(v1::player::Policy {
                name: argmax.unwrap_or(rest).to_owned(),
                argmax: argmax.is_some(),
            })
        }
        Some((SEARCH, policy)) if !policy.is_empty() && !policy.contains(':') => bot(SEARCH, policy, None),
        Some((first, rest)) => {
            let (policy, value) = rest.split_once(':').filter(|_| first == SEARCH).unwrap_or(("", rest));
            let parameter =
                PARAMETERS.iter().find(|(name, _)| *name == first && (first == SEARCH) != policy.is_empty());
            match parameter.zip(number(value)) {
                Some(((_, parameter), value)) => bot(first, policy, Some((parameter, value))),
                None => bot(name, "", None),
            }
        }
        None => bot(name, "", None),
    };
    v1::Player { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use boardwire_policy::{Policies, testkit::Linear};

    use super::*;
    use crate::registry::Registry;
    use crate::tables::OPPONENTS;

    /// Returns tables with the policy `lion`, and the table that it reads.
    fn tables_with_lion() -> (Tables, Arc<Table>) {
        let tables = Tables::new(Registry::standard());
        let table = tables.table("faraway", 2, []).expect("it can be set up");
        let info = table.game.info();
        let lion = Linear::new(&table.digest.to_string(), info.layout.bytes(), info.actions.count());
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("lion.onnx");
        std::fs::write(&file, lion.onnx()).expect("a file");
        let policies = Policies::load([("lion".to_owned(), file)], Duration::from_mins(1));
        (tables.with_policies(policies.expect("it can play")), table)
    }

    #[test]
    fn player_names_are_read_as_they_are_written() {
        let (tables, table) = tables_with_lion();
        for name in ["agent", "random", "greedy", "greedy:16", "mc", "mc:40", "search:lion", "search:lion:40"]
        {
            let [given] = &players(&[name])[..] else { panic!("one") };
            assert_eq!(player_name(given), name);
            let read = player(&tables, &table, 0, given).expect("the player exists");
            assert_eq!((read.to_string().as_str(), &player_message(&read)), (name, given));
        }
        let bot = |name: &str, parameter: &str, value: u32| {
            let parameters = [(parameter.to_owned(), value)].into();
            let (name, policy) = name.split_once('/').unwrap_or((name, ""));
            let (name, policy) = (name.to_owned(), policy.to_owned());
            v1::Player { kind: Some(Kind::Bot(v1::player::Bot { name, parameters, policy })) }
        };
        for (given, name) in [
            (v1::Player::default(), "unset"),
            (bot("mc", "depth", 3), "mc:depth=3"),
            (bot("mc", "playouts", 0), "mc:0"),
            (bot("random", "worlds", 3), "random:worlds=3"),
            (bot("policy:lion", "worlds", 3), "policy:lion:worlds=3"),
            (bot("search", "playouts", 3), "search:3"),
            (bot("search/lion", "worlds", 3), "search:lion:worlds=3"),
            (bot("search/tiger", "playouts", 3), "search:tiger:3"),
            (bot("search/lion:3", "playouts", 3), "search:lion:3:3"),
            (bot("mc/lion", "playouts", 3), "mc:lion:3"),
            (players(&["search::3"])[0].clone(), "search::3"),
            (players(&["search:lion:x"])[0].clone(), "search:lion:x"),
            (players(&["search:lion:3:3"])[0].clone(), "search:lion:3:3"),
            (players(&["clever"])[0].clone(), "clever"),
            (players(&["policy:tiger:argmax"])[0].clone(), "policy:tiger:argmax"),
        ] {
            let refused = player(&tables, &table, 1, &given).expect_err("the player does not exist");
            let Error::BotUnknown { seat: 1, given, expected } = &refused else { panic!("{refused}") };
            assert!(given == name && expected.starts_with("agent, "), "{refused}");
        }
        let by_default = bot("mc", "playouts", DEFAULT_PLAYOUTS);
        let read = player(&tables, &table, 0, &by_default).expect("the player exists");
        assert_eq!(read, Player::Bot(Bot::Search { playouts: DEFAULT_PLAYOUTS }));
    }

    #[test]
    fn strong_is_the_network_of_its_table_or_a_search() {
        let tables = Tables::new(Registry::standard());
        let table = tables.table("faraway", 2, []).expect("it can be set up");
        let [given] = &players(&["strong"])[..] else { panic!("one") };
        let refused = player(&tables, &table, 1, given).expect_err("there are no networks").to_string();
        assert!(refused.contains("pip install boardwire-opponents"), "{refused}");
        assert!(refused.contains("serve --opponents DIR"), "{refused}");
        let info = table.game.info();
        let network = Linear::new(&table.digest.to_string(), info.layout.bytes(), info.actions.count());
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("faraway-2.onnx");
        std::fs::write(&file, network.onnx()).expect("a file");
        let policies = Policies::load([(OPPONENTS.to_owned(), file)], Duration::from_mins(1));
        let tables = tables.with_policies(policies.expect("it can play"));
        assert_eq!(bots(&tables).last().map(|bot| bot.name.as_str()), Some(STRONG));
        let other = tables.table("faraway", 3, []).expect("it can be set up");
        for (table, name) in [(&table, "search:opponents"), (&other, "mc")] {
            let strong = player(&tables, table, 0, given).expect("it has a network");
            assert_eq!(strong.to_string(), name);
            assert_eq!(player(&tables, table, 0, &player_message(&strong)), Ok(strong));
        }
    }

    #[test]
    fn bots_accept_their_ranges_and_nothing_else() {
        let (tables, table) = tables_with_lion();
        let mut known = Vec::new();
        for v1::BotSpec { name, parameters } in bots(&tables) {
            known.push(name.clone());
            for v1::BotParameter { name: parameter, default_value, min, max } in parameters {
                let policy = if name == SEARCH { "lion" } else { "" };
                let named = |value: u32| {
                    let parameters = [(parameter.clone(), value)].into();
                    let message =
                        v1::player::Bot { name: name.clone(), parameters, policy: policy.to_owned() };
                    bot(&tables, &table, &v1::Player { kind: Some(Kind::Bot(message)) })
                };
                assert!(named(min).is_ok() && named(max).is_ok(), "{name}");
                assert!(named(min - 1).is_err() && named(max + 1).is_err(), "{name}");
                let by_default = [name.as_str(), policy].join(":");
                assert_eq!(named(default_value), tables.bot(&table, by_default.trim_end_matches(':')));
            }
        }
        assert_eq!(known, ["random", "greedy", "mc", "search"]);
        assert!(known.iter().all(|name| UnknownBot::KNOWN.contains(name)));
    }
}
