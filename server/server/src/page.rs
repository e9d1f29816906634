//! Pages for browsers: the replay of a match in one file, and the watch page, which shows the matches of a server.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use boardwire_batch::play::Play;
use boardwire_draw::{Part, WIDTH, draw};
use boardwire_kernel::{GameInfo, Seat, Viewer};
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::{Value, json};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// The script of every page.
const SCRIPT: &str = include_str!("page/page.js");
/// The script of the watch page.
const WATCH_SCRIPT: &str = concat!(include_str!("page/page.js"), include_str!("page/watch.js"));
/// The addition to the policy that lets the watch page connect to its own server.
const CONNECT: &str = "; connect-src 'self'";

/// The replay page of an ended match: every position as each viewer saw it. Equal texts are stored once.
#[derive(Debug, Serialize)]
pub struct ReplayPage {
    title: String,
    about: String,
    width: u32,
    viewers: Vec<String>,
    parts: Texts,
    lines: Texts,
    frames: Vec<Frame>,
    scores: Vec<Value>,
    #[serde(skip)]
    seen_by: Vec<Viewer>,
    #[serde(skip)]
    players: Vec<String>,
}

/// One position.
#[derive(Debug, Serialize)]
struct Frame {
    /// The decision that led to the position.
    caption: String,
    /// The position as each viewer sees it.
    views: Vec<View>,
}

/// One position as one viewer sees it.
#[derive(Debug, Serialize)]
struct View {
    height: u32,
    name: String,
    /// The parts of the picture: for each the index in `parts`, and its x and y.
    drawn: Vec<(usize, u32, u32)>,
    /// The lines that describe the position, as indices in `lines`.
    text: Vec<usize>,
}

/// A list of distinct texts.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
struct Texts {
    all: Vec<String>,
    #[serde(skip)]
    numbers: BTreeMap<String, usize>,
}

impl Texts {
    /// Returns the index of a text. Adds the text if it is new.
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
    /// Creates a page without positions, for a match of these players and for these viewers.
    #[must_use]
    pub fn new(info: &GameInfo, players: &[String], about: String, seen_by: Vec<Viewer>) -> Self {
        let name = |viewer: &Viewer| match viewer {
            Viewer::Public => "everybody".to_owned(),
            Viewer::Seat(seat) => format!("{seat} ({})", players[seat.index()]),
        };
        Self {
            title: format!("{}: {}", info.id.replace('_', " "), players.join(", ")),
            about,
            width: WIDTH,
            viewers: seen_by.iter().map(name).collect(),
            parts: Texts::default(),
            lines: Texts::default(),
            frames: Vec::new(),
            scores: Vec::new(),
            seen_by,
            players: players.to_vec(),
        }
    }

    /// Adds a position. `caption` describes the decision that led to it.
    ///
    /// # Errors
    /// The position belongs to another table.
    pub fn show(&mut self, info: &GameInfo, play: &dyn Play, caption: String) -> Result<(), String> {
        let mut views = Vec::new();
        for viewer in self.seen_by.clone() {
            let mut view = vec![0; info.layout_for(viewer).bytes()];
            play.view(viewer, &mut view);
            views.push(self.view(info, viewer, &view, &play.text(viewer))?);
        }
        self.frames.push(Frame { caption, views });
        Ok(())
    }

    /// Adds a position to a page with one viewer, from that viewer's view alone.
    ///
    /// # Errors
    /// The view belongs to another table.
    pub fn show_view(&mut self, info: &GameInfo, view: &[u8], caption: String) -> Result<(), String> {
        let views = vec![self.view(info, self.seen_by[0], view, "")?];
        self.frames.push(Frame { caption, views });
        Ok(())
    }

    fn view(&mut self, info: &GameInfo, viewer: Viewer, view: &[u8], text: &str) -> Result<View, String> {
        let picture = draw(info, viewer, view)?;
        let part = |part: &Part| (self.parts.number(&part.svg), part.x, part.y);
        let drawn = picture.parts.iter().map(part).collect();
        let text = text.lines().map(|line| self.lines.number(line)).collect();
        Ok(View { height: picture.height, name: picture.title, drawn, text })
    }

    /// Adds the scores, if the match ended by the rules.
    pub fn end(&mut self, play: &dyn Play) {
        let Some(outcome) = play.outcome() else { return };
        for (number, player) in (0..).zip(&self.players) {
            let seat = Seat::new(number);
            let lines = play.explain(seat).into_iter();
            let lines = lines.map(|line| json!({"source": line.source, "points": line.points}));
            self.scores.push(json!({
                "name": format!("{seat} ({player})"),
                "place": outcome.ranks()[seat.index()].to_string(),
                "points": outcome.scores()[seat.index()].to_string(),
                "lines": lines.collect::<Vec<_>>(),
            }));
        }
    }

    /// Returns the page as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        // A `<` in a text could end the script element.
        let data = serde_json::to_string(self).expect("texts and numbers").replace('<', "\\u003c");
        page(SCRIPT, &data, "")
    }
}

/// Returns the watch page, and its content security policy as a header. The header also forbids frames.
pub(crate) fn watch() -> (String, String) {
    (page(WATCH_SCRIPT, "null", CONNECT), policy(WATCH_SCRIPT, CONNECT) + "; frame-ancestors 'none'")
}

/// Returns a content security policy that allows only the page's own script and style, and the `additions`.
fn policy(script: &str, additions: &str) -> String {
    let hash = |text: &str| BASE64.encode(digest(&SHA256, text.as_bytes()));
    let (script, style) = (hash(script), hash(STYLE));
    format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; base-uri 'none'; \
         form-action 'none'{additions}"
    )
}

fn page(script: &str, data: &str, additions: &str) -> String {
    PAGE.replace("{{policy}}", &policy(script, additions))
        .replace("{{style}}", STYLE)
        .replace("{{script}}", script)
        .replace("{{data}}", data)
}

#[cfg(test)]
mod tests;
