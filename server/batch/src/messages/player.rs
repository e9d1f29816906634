//! Players as messages.

use boardwire_api::v1::player::Kind;
use boardwire_api::{Error, v1};
use boardwire_bots::{Bot, UnknownBot};

use crate::players::Player;
use crate::tables::{Table, Tables};

/// The parameter that a bot has, by the bot's name.
const PARAMETERS: [(&str, &str); 2] = [("greedy", "worlds"), ("mc", "playouts")];

/// Who is to play at `seat` of a table.
///
/// # Errors
/// No such bot or policy, or none that could play there.
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

/// The same where no agent can be.
///
/// # Errors
/// No such bot or policy, or none that could play there.
pub fn bot(tables: &Tables, table: &Table, given: &v1::Player) -> Result<Bot, UnknownBot> {
    if let Some(Kind::Bot(v1::player::Bot { name, parameters })) = &given.kind {
        let own = PARAMETERS.iter().find(|(bot, _)| bot == name).map(|(_, own)| *own);
        if name.contains(':') || parameters.keys().any(|parameter| Some(parameter.as_str()) != own) {
            return Err(UnknownBot { given: player_name(given), expected: UnknownBot::KNOWN.to_owned() });
        }
    }
    tables.bot(table, &player_name(given))
}

/// A player in words, as command lines have it: `agent`, `mc:160`, `policy:lion:argmax`.
#[must_use]
pub fn player_name(player: &v1::Player) -> String {
    match &player.kind {
        None => "nobody".to_owned(),
        Some(Kind::Agent(_)) => Player::Agent.to_string(),
        Some(Kind::Bot(v1::player::Bot { name, parameters })) => {
            let known = |(parameter, value): (&String, &u32)| {
                let is_own = PARAMETERS.contains(&(name.as_str(), parameter.as_str()));
                if is_own { format!(":{value}") } else { format!(":{parameter}={value}") }
            };
            parameters.iter().fold(name.clone(), |name, parameter| name + &known(parameter))
        }
        Some(Kind::Policy(v1::player::Policy { name, argmax })) => {
            format!("policy:{name}{}", if *argmax { ":argmax" } else { "" })
        }
    }
}

/// A player as a message.
#[must_use]
pub fn player_to(player: &Player) -> v1::Player {
    named(&player.to_string())
}

/// A bot as a message.
#[must_use]
pub fn bot_to(bot: &Bot) -> v1::Player {
    named(&bot.to_string())
}

/// Players by their names in words.
#[cfg(any(test, feature = "testkit"))]
#[must_use]
pub fn players(names: &[&str]) -> Vec<v1::Player> {
    names.iter().map(|name| named(name)).collect()
}

/// The message of a name as [`player_name`] gives it.
fn named(name: &str) -> v1::Player {
    let (first, rest) = name.split_once(':').unwrap_or((name, ""));
    let kind = match first {
        "agent" => Kind::Agent(v1::player::Agent {}),
        "policy" => {
            let (name, pick) = rest.split_once(':').unwrap_or((rest, ""));
            Kind::Policy(v1::player::Policy { name: name.to_owned(), argmax: pick == "argmax" })
        }
        bot => {
            let own = PARAMETERS.iter().find(|(known, _)| *known == bot);
            let value = own.and_then(|(_, own)| Some(((*own).to_owned(), rest.parse().ok()?)));
            Kind::Bot(v1::player::Bot { name: bot.to_owned(), parameters: value.into_iter().collect() })
        }
    };
    v1::Player { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use boardwire_bots::DEFAULT_PLAYOUTS;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn players_are_read_as_they_are_told() {
        let tables = Tables::new(Registry::standard());
        let table = tables.table("faraway", 2, []).expect("it can be set up");
        for name in ["agent", "random", "greedy", "greedy:16", "mc", "mc:40"] {
            let [given] = &players(&[name])[..] else { panic!("one") };
            assert_eq!(player_name(given), name);
            let read = player(&tables, &table, 0, given).expect("there is such a player");
            assert_eq!((read.to_string().as_str(), &player_to(&read)), (name, given));
        }
        let bot = |name: &str, parameter: &str, value: u32| {
            let parameters = [(parameter.to_owned(), value)].into();
            v1::Player { kind: Some(Kind::Bot(v1::player::Bot { name: name.to_owned(), parameters })) }
        };
        for (given, words) in [
            (v1::Player::default(), "nobody"),
            (bot("mc", "depth", 3), "mc:depth=3"),
            (bot("mc", "playouts", 0), "mc:0"),
            (bot("random", "worlds", 3), "random:worlds=3"),
            (bot("policy:lion", "worlds", 3), "policy:lion:worlds=3"),
            (players(&["clever"])[0].clone(), "clever"),
            (players(&["policy:lion:argmax"])[0].clone(), "policy:lion:argmax"),
        ] {
            let refused = player(&tables, &table, 1, &given).expect_err("there is no such player");
            let Error::BotUnknown { seat: 1, given, expected } = &refused else { panic!("{refused}") };
            assert!(given == words && expected.starts_with("agent, "), "{refused}");
        }
        let by_default = bot("mc", "playouts", DEFAULT_PLAYOUTS);
        let read = player(&tables, &table, 0, &by_default).expect("it is there");
        assert_eq!(read, Player::Bot(Bot::Search { playouts: DEFAULT_PLAYOUTS }));
    }
}
