//! A match as a page of its own: every position as each seat and the public saw it, drawn, with nothing to be fetched.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use boardwire_batch::play::Play;
use boardwire_draw::{WIDTH, draw};
use boardwire_kernel::{GameInfo, Seat, Viewer};
use ring::digest::{SHA256, digest};
use serde::Serialize;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// What every page does.
const SCRIPT: &str = include_str!("page/page.js");
/// What the page does besides that follows matches.
const WATCH_SCRIPT: &str = concat!(include_str!("page/page.js"), include_str!("page/watch.js"));
/// What that page may do besides: speak to the server that it came from. Nobody may put it in a frame.
const WATCH_POLICY: &str = "; connect-src 'self'; frame-ancestors 'none'";

/// A match that is over, in the making: texts that are alike are kept once.
#[derive(Debug, Serialize)]
pub struct ReplayPage {
    title: String,
    about: String,
    width: u32,
    viewers: Vec<String>,
    parts: Texts,
    lines: Texts,
    frames: Vec<Frame>,
    scores: Vec<Score>,
    #[serde(skip)]
    seen_by: Vec<Viewer>,
    #[serde(skip)]
    players: Vec<String>,
}

/// One position.
#[derive(Debug, Serialize)]
struct Frame {
    /// What led to it.
    caption: String,
    /// How each viewer sees it.
    views: Vec<Seen>,
}

/// One position as one viewer sees it.
#[derive(Debug, Serialize)]
struct Seen {
    height: u32,
    name: String,
    /// Which part is drawn where.
    drawn: Vec<(usize, u32, u32)>,
    /// Which lines describe it.
    text: Vec<usize>,
}

/// How a seat ended.
#[derive(Debug, Serialize)]
struct Score {
    name: String,
    place: String,
    points: String,
    lines: Vec<ScoreLine>,
}

#[derive(Debug, Serialize)]
struct ScoreLine {
    source: String,
    points: i32,
}

/// Texts by number, each once.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
struct Texts {
    all: Vec<String>,
    #[serde(skip)]
    numbers: BTreeMap<String, usize>,
}

impl Texts {
    fn number(&mut self, text: &str) -> usize {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }
}

impl ReplayPage {
    /// Before the first position of a match of these players, to be seen by these viewers.
    #[must_use]
    pub fn new(info: &GameInfo, players: &[String], about: String, seen_by: Vec<Viewer>) -> Self {
        let game = info.id.replace('_', " ");
        Self {
            title: format!("{game}: {}", players.join(", ")),
            about,
            width: WIDTH,
            viewers: seen_by.iter().map(|viewer| named(*viewer, players)).collect(),
            parts: Texts::default(),
            lines: Texts::default(),
            frames: Vec::new(),
            scores: Vec::new(),
            seen_by,
            players: players.to_vec(),
        }
    }

    /// Adds a position, to which `caption` led.
    ///
    /// # Errors
    /// None for a position of the table that this film is of.
    pub fn show(&mut self, info: &GameInfo, play: &dyn Play, caption: String) -> Result<(), String> {
        let mut views = Vec::new();
        for viewer in self.seen_by.clone() {
            let mut view = vec![0; info.layout_for(viewer).bytes()];
            play.view(viewer, &mut view);
            views.push(self.seen(info, viewer, &view, &play.text(viewer))?);
        }
        self.frames.push(Frame { caption, views });
        Ok(())
    }

    /// Adds a position of which nothing is known but what the only viewer saw.
    ///
    /// # Errors
    /// A view that is none of this table.
    pub fn show_view(&mut self, info: &GameInfo, view: &[u8], caption: String) -> Result<(), String> {
        let seen = self.seen(info, self.seen_by[0], view, "")?;
        self.frames.push(Frame { caption, views: vec![seen] });
        Ok(())
    }

    fn seen(&mut self, info: &GameInfo, viewer: Viewer, view: &[u8], text: &str) -> Result<Seen, String> {
        let picture = draw(info, viewer, view)?;
        let part = |part: &boardwire_draw::Part| (self.parts.number(&part.svg), part.x, part.y);
        let drawn = picture.parts.iter().map(part).collect();
        let text = text.lines().map(|line| self.lines.number(line)).collect();
        Ok(Seen { height: picture.height, name: picture.title, drawn, text })
    }

    /// Says how the match ended, if that was by the rules.
    pub fn end(&mut self, play: &dyn Play) {
        let Some(outcome) = play.outcome() else { return };
        for (number, player) in (0..).zip(&self.players) {
            let seat = Seat::new(number);
            let lines = play.explain(seat).into_iter();
            self.scores.push(Score {
                name: format!("{seat} ({player})"),
                place: outcome.ranks()[seat.index()].to_string(),
                points: outcome.scores()[seat.index()].to_string(),
                lines: lines.map(|line| ScoreLine { source: line.source, points: line.points }).collect(),
            });
        }
    }

    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        // In a script `<` could end it.
        let data = serde_json::to_string(self).expect("texts and numbers").replace('<', "\\u003c");
        page(SCRIPT, &data, "")
    }
}

/// Who looks, in words.
fn named(viewer: Viewer, players: &[String]) -> String {
    match viewer {
        Viewer::Public => "everybody".to_owned(),
        Viewer::Seat(seat) => format!("{seat} ({})", players[seat.index()]),
    }
}

/// The page that follows the matches of the server that it came from, and what it may do.
pub(crate) fn watch() -> (String, String) {
    (page(WATCH_SCRIPT, "null", "; connect-src 'self'"), policy(WATCH_SCRIPT, WATCH_POLICY))
}

/// What a page may do: run its own script, wear its own style, and `beyond` these.
fn policy(script: &str, beyond: &str) -> String {
    let hash = |text: &str| BASE64.encode(digest(&SHA256, text.as_bytes()));
    let (script, style) = (hash(script), hash(STYLE));
    format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; base-uri 'none'; \
         form-action 'none'{beyond}"
    )
}

fn page(script: &str, data: &str, beyond: &str) -> String {
    PAGE.replace("{{policy}}", &policy(script, beyond))
        .replace("{{style}}", STYLE)
        .replace("{{script}}", script)
        .replace("{{data}}", data)
}

#[cfg(test)]
mod tests;
