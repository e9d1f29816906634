//! `replay`: shows an episode as an HTML page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use boardwire_api::v1;
use boardwire_batch::messages::player_name;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_kernel::{Key, Seat, Viewer};
use clap::Args;

use crate::flags::Catalogues;
use crate::json;
use boardwire_server::page::ReplayPage;

/// Shows an episode as a page.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// The canonical JSON of a `boardwire.v1.Replay`, as clients save it; `-` for standard input.
    file: PathBuf,
    /// Writes an HTML page of every position. It has the views of all seats if the replay has the key. It needs no network.
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
    #[command(flatten)]
    catalogues: Catalogues,
}

impl Replay {
    pub(super) fn run(self, games: &Registry) -> anyhow::Result<ExitCode> {
        let about = || self.file.display().to_string();
        let replay = json::read("Replay", &self.file).with_context(about)?;
        let page = page(&replay, &Tables::new(self.catalogues.load(games)?)).with_context(about)?;
        write(&self.html, &page)
    }
}

pub(super) fn write(path: &Path, page: &ReplayPage) -> anyhow::Result<ExitCode> {
    std::fs::write(path, page.html()).with_context(|| path.display().to_string())?;
    eprintln!("wrote {}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// Returns a page with all views if the replay has the key, else with the view of the replay's viewer.
fn page(replay: &v1::Replay, tables: &Tables) -> anyhow::Result<ReplayPage> {
    let config = replay.config.as_ref().context("the replay has no match configuration")?;
    let options = config.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let table = tables.table(&config.game, u32::try_from(config.players.len())?, options)?;
    anyhow::ensure!(
        replay.spec_digest == table.digest.to_string(),
        "the episode has other rules or components: its spec digest is {}, that of this program {}",
        replay.spec_digest,
        table.digest
    );
    anyhow::ensure!(!replay.frames.is_empty(), "the replay has no frames");
    let about = format!("episode {} of match {}", replay.episode, replay.match_id);
    match replay.seed_opening.as_ref().and_then(|opening| <[u8; 32]>::try_from(&opening.key[..]).ok()) {
        Some(key) => full_page(replay, &table, about, key.into()),
        None => viewer_page(replay, &table, about),
    }
}

/// Plays the episode again from its key. Returns a page with all views.
fn full_page(replay: &v1::Replay, table: &Table, about: String, key: Key) -> anyhow::Result<ReplayPage> {
    let info = table.game.info();
    let mut page = ReplayPage::new(info, &players(replay), about, Viewer::all(info.seats).collect());
    let mut play = table.game.clone().deal(key);
    for (number, frame) in replay.frames.iter().enumerate() {
        if let (Some(seat), Some(played)) = (frame.seat, frame.played) {
            let seat = seat_at(table, seat)?;
            play.apply(seat, played.action).with_context(|| format!("frame {number}"))?;
        }
        page.show(info, &*play, caption(replay, table, frame)?).map_err(anyhow::Error::msg)?;
    }
    page.end(&*play);
    Ok(page)
}

/// Returns a page with the recorded views of the replay's viewer.
fn viewer_page(replay: &v1::Replay, table: &Table, about: String) -> anyhow::Result<ReplayPage> {
    let info = table.game.info();
    let viewer = match replay.viewer {
        None => Viewer::Public,
        Some(number) => seat_at(table, number)?.into(),
    };
    let mut page = ReplayPage::new(info, &players(replay), about, vec![viewer]);
    for (number, frame) in replay.frames.iter().enumerate() {
        let result = page.show_view(info, &frame.view, caption(replay, table, frame)?);
        result.map_err(anyhow::Error::msg).with_context(|| format!("frame {number}"))?;
    }
    Ok(page)
}

fn players(replay: &v1::Replay) -> Vec<String> {
    replay.config.iter().flat_map(|config| config.players.iter().map(player_name)).collect()
}

fn seat_at(table: &Table, number: u32) -> anyhow::Result<Seat> {
    let mut seats = Seat::all(table.game.info().seats);
    let seat = seats.find(|seat| u32::from(seat.number()) == number);
    seat.with_context(|| format!("there is no seat {number}"))
}

/// Describes the event that led to a frame.
fn caption(replay: &v1::Replay, table: &Table, frame: &v1::Frame) -> anyhow::Result<String> {
    let Some(number) = frame.seat else {
        return Ok(if frame.outcome.is_some() { "a seat has forfeited" } else { "the deal" }.to_owned());
    };
    let seat = seat_at(table, number)?;
    let players = players(replay);
    let player = players.get(seat.index()).map_or("", String::as_str);
    let label = frame.played.and_then(|played| {
        let action = u8::try_from(played.action).ok()?;
        table.game.info().actions.label(action)
    });
    Ok(decision(seat, player, label.unwrap_or("a hidden choice")))
}

pub(super) fn decision(seat: Seat, player: &str, label: &str) -> String {
    format!("{seat} ({player}): {label}")
}

#[cfg(test)]
mod tests {
    use boardwire_batch::Player;
    use boardwire_batch::messages::player_message;

    use super::*;

    fn config() -> v1::MatchConfig {
        let players = vec![player_message(&Player::Agent); 2];
        v1::MatchConfig { game: "faraway".to_owned(), players, ..Default::default() }
    }

    #[test]
    fn an_unknown_seat_is_an_error() {
        let tables = Tables::new(Registry::standard());
        let table = tables.table("faraway", 2, []).expect("the table is valid");
        let opening = v1::SeedOpening { key: vec![7; 32].into(), ..Default::default() };
        let played = Some(v1::PlayedAction::default());
        for (seed_opening, played) in [(None, None), (Some(opening.clone()), None), (Some(opening), played)] {
            for seat in [2, 9, 300] {
                let replay = v1::Replay {
                    config: Some(config()),
                    spec_digest: table.digest.to_string(),
                    seed_opening: seed_opening.clone(),
                    frames: vec![v1::Frame { seat: Some(seat), played, ..Default::default() }],
                    ..Default::default()
                };
                let refused = page(&replay, &tables).expect_err("the seat is unknown").to_string();
                assert_eq!(refused, format!("there is no seat {seat}"));
            }
        }
    }

    #[test]
    fn a_replay_without_frames_is_an_error() {
        let tables = Tables::new(Registry::standard());
        let table = tables.table("faraway", 2, []).expect("the table is valid");
        let opening = v1::SeedOpening { key: vec![7; 32].into(), ..Default::default() };
        for seed_opening in [None, Some(opening)] {
            let replay = v1::Replay {
                config: Some(config()),
                spec_digest: table.digest.to_string(),
                seed_opening,
                ..Default::default()
            };
            let refused = page(&replay, &tables).expect_err("the replay is empty").to_string();
            assert_eq!(refused, "the replay has no frames");
        }
    }
}
