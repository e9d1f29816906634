//! The log on standard error: one line for each event, and no more of them than a disk takes.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::observing::LogFormat;

/// The most lines of level `info` in a second: callers cause them. Warnings and errors are limited where they arise.
const MOST_LINES: u32 = 100;
const SECOND: Duration = Duration::from_secs(1);

/// Where lines go.
pub(super) struct LogLines<W> {
    format: LogFormat,
    has_colors: bool,
    open: fn() -> W,
    second: Mutex<Second>,
}

/// The present second.
#[derive(Default)]
struct Second {
    began: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Second {
    /// Whether a line may be written at `now`, and how many were left out in the second that has ended.
    fn pass(&mut self, now: Instant) -> (bool, u64) {
        let mut left_out = 0;
        if self.began.is_none_or(|began| now.saturating_duration_since(began) >= SECOND) {
            left_out = self.left_out;
            *self = Self { began: Some(now), ..Self::default() };
        }
        self.lines = self.lines.saturating_add(1);
        let passes = self.lines <= MOST_LINES;
        self.left_out += u64::from(!passes);
        (passes, left_out)
    }
}

impl<W> LogLines<W> {
    pub(super) fn new(format: LogFormat, has_colors: bool, open: fn() -> W) -> Self {
        Self { format, has_colors, open, second: Mutex::default() }
    }
}

/// Writes one event.
pub(super) struct LogLine<'a, W> {
    lines: &'a LogLines<W>,
    is_limited: bool,
}

impl<'a, W: Write + 'a> MakeWriter<'a> for LogLines<W> {
    type Writer = LogLine<'a, W>;

    fn make_writer(&'a self) -> Self::Writer {
        LogLine { lines: self, is_limited: false }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> Self::Writer {
        LogLine { lines: self, is_limited: *about.level() == Level::INFO }
    }
}

impl<W: Write> Write for LogLine<'_, W> {
    /// Takes a whole event.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let mut to = (self.lines.open)();
        if self.is_limited {
            let mut second = self.lines.second.lock().unwrap_or_else(PoisonError::into_inner);
            let (passes, left_out) = second.pass(Instant::now());
            drop(second);
            if left_out > 0 {
                match self.lines.format {
                    LogFormat::Text => writeln!(to, " WARN {left_out} lines were left out")?,
                    LogFormat::Json => {
                        let fields = serde_json::json!({"message": "lines were left out", "lines": left_out});
                        writeln!(to, "{}", serde_json::json!({"level": "WARN", "fields": fields}))?;
                    }
                }
            }
            if !passes {
                return Ok(event.len());
            }
        }
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        writeln!(to, "{}", escaped(line, self.lines.has_colors))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        (self.lines.open)().flush()
    }
}

/// A line in which no caller's text begins another one, or moves a terminal's cursor. Colours are the library's, which escapes
/// those of values itself.
fn escaped(line: &str, has_colors: bool) -> Cow<'_, str> {
    let is_kept = |char: char| !char.is_control() || (has_colors && char == '\u{1b}');
    if line.chars().all(is_kept) {
        return line.into();
    }
    let mut text = String::with_capacity(line.len() + 8);
    for char in line.chars() {
        if is_kept(char) {
            text.push(char);
        } else {
            text.extend(char.escape_default());
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_begins_no_line_of_its_own() {
        assert_eq!(escaped("one\ntwo\r\u{8}\u{9b}1m", false), r"one\ntwo\r\u{8}\u{9b}1m");
        assert_eq!(escaped("\u{1b}[32m INFO", true), "\u{1b}[32m INFO");
        assert_eq!(escaped("\u{1b}[32m", false), r"\u{1b}[32m");
        assert_eq!(escaped("Ä sound line", false), "Ä sound line");
    }

    #[test]
    fn a_second_has_so_many_lines_and_the_next_counts_those_left_out() {
        let (mut second, start) = (Second::default(), Instant::now());
        let passed = (0..150).filter(|_| second.pass(start).0).count();
        assert_eq!(passed, 100);
        assert_eq!(second.pass(start + SECOND / 2), (false, 0));
        assert_eq!(second.pass(start + SECOND), (true, 51));
        assert_eq!(second.pass(start + 2 * SECOND), (true, 0));
    }
}
