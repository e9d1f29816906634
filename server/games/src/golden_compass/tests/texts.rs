//! Tests of texts, phrases and reports.

use boardwire_kernel::{Seat, Texts, Viewer};

use super::super::action::Action;
use super::super::catalogue::DaemonId;
use super::super::state::{Decision, SetKind, TargetReason};
use super::super::streams;
use super::support::{Table, seat, tiles};

fn text(table: &Table, viewer: impl Into<Viewer>) -> String {
    let mut text = String::new();
    table.game.text(&table.state, viewer.into(), &mut text).expect("memory");
    text
}

/// Returns the phrases of the legal actions of the seat that decides.
fn phrases(table: &Table) -> Vec<String> {
    let seat = table.state.chooser().expect("a seat decides");
    let phrase = |action| {
        let mut phrase = String::new();
        table.game.phrase(&table.state, seat, action, &mut phrase).expect("memory");
        phrase
    };
    table.legal().into_iter().map(phrase).collect()
}

/// Plays an action, and returns its report for each seat.
fn reports(table: &mut Table, by: u8, action: Action) -> Vec<String> {
    let before = table.state;
    table.play_for(by, action);
    let report = |viewer| {
        let mut report = String::new();
        let choice = (seat(by), action);
        table.game.report(&before, choice, &table.state, viewer, &mut report).expect("memory");
        report
    };
    Seat::all(table.game.seats).map(report).collect()
}

#[test]
fn the_text_says_who_chooses_what() {
    let mut table = Table::new(2);
    let hand =
        ["ermine baby", "wildcat baby", "mouse baby", "moth baby", "hawk baby", "polecat baby", "joker"];
    table.hand(0, &hand);
    table.needle(3, 1);
    assert!(text(&table, seat(1)).contains("to choose: seat 0: red or light blue\n"));
    assert!(text(&table, seat(0)).contains("needle: red (draw 3, Lyra advances 1); light blue ("));
    table.play(&[Action::Red]);
    let due =
        "to choose: seat 0 (you): discard 3 more (hand limit 7); then Lyra advances 1 and the turn ends\n";
    assert!(text(&table, seat(0)).contains(due), "{}", text(&table, seat(0)));
    table.state.decision = Decision::Target(TargetReason::Compass(2));
    let due = "to choose: seat 0: the opponent whose compass tiles, at most 2, go back from the objective\n";
    assert!(text(&table, seat(1)).contains(due));
}

#[test]
fn every_seat_shows_as_choosing_until_all_have_kept_an_ally() {
    let mut table = Table::dealt(2, 3);
    table.play_for(1, Action::Keep(1));
    let [own, other] = [1, 0].map(|viewer| text(&table, seat(viewer)));
    assert!(own.contains("until all have chosen: seat 1 (you) has chosen, seat 0 chooses\n"), "{own}");
    assert!(own.contains(", which you keep\n") && own.contains(", which you pass to the left\n"), "{own}");
    assert!(!other.contains("which you") && other.contains("your second character: "), "{other}");
}

#[test]
fn tokens_show_by_where_they_may_be() {
    let mut table = Table::in_period(3, 1);
    table.tokens(1, &["London token worth 4", "Trollesund token worth 6"]);
    table.lay(0, 0, &["London alethiometer token"]);
    let own = text(&table, seat(0));
    assert!(own.contains("hidden tokens: London 3 4 4 5 6 (gone or seat 1)\n"), "{own}");
    assert!(
        own.contains("10-13 Trollesund (current city): 5 tokens, among 4 4 5 5 6 6 (here or seat 1)\n"),
        "{own}"
    );
    assert!(own.contains("14-17 Bolvangar: 6 tokens worth 4 5 5 6 7 alethiometer\n"), "{own}");
    assert!(own.contains("; laid out in Svalbard: London alethiometer; 1 point so far\n"), "{own}");
    let holder = text(&table, seat(1));
    assert!(
        holder.contains("  tokens London 4, Trollesund 6\n") && !holder.contains("hidden tokens"),
        "{holder}"
    );
    assert!(holder.contains("5 tokens worth 4 4 5 5 6\n"), "{holder}");
}

#[test]
fn cards_out_of_reach_show_by_the_shorter_list() {
    let mut table = Table::new(2);
    table.hand(1, &["hawk baby", "moth baby"]);
    table.discarded(&["flying spy", "joker"]);
    table.game.clone().reshuffle_discard(&mut table.state);
    let few = text(&table, seat(0));
    assert!(few.contains("2 cards of seat 1: none of 1 joker, 1 flying spy\n"), "{few}");
    assert!(!text(&table, seat(1)).contains("none of"), "only opponents have hidden cards");
}

#[test]
fn the_last_text_has_scores_with_sources_and_places() {
    // GC-11.2
    let mut table = Table::in_period(2, 2);
    table.state.lyra = table.objective(2);
    table.state.seats[seat(1)].truth = tiles(&[(7, 1), (3, 2)]);
    table.lay(0, 0, &["London alethiometer token", "London token worth 6"]);
    (table.state.seats[seat(0)].dust, table.state.dust, table.state.drawn_passages) = (2, 6, 1);
    table.state.decision = Decision::Over;
    let last = text(&table, seat(0));
    let scores = "the game is over; final scores:\n\
                  place 1: seat 1, 16 points = truth tiles 16 + experience tokens laid out 0 + alethiometer tokens 0 \
                  + passage tiles 0\n\
                  place 2: seat 0 (you), 10 points = truth tiles 0 + experience tokens laid out 6 + alethiometer tokens 2 \
                  + passage tiles 2\n";
    assert!(last.contains(scores), "{last}");
    assert!(last.contains("passage tiles drawn: 1 of 3\n"), "{last}");
}

#[test]
fn phrases_of_options_and_costs_name_the_effect() {
    let mut table = Table::in_period(2, 2);
    table.hand(0, &["hawk baby"]);
    table.ally(0, "Thorold");
    table.light_blue();
    table.play(&[Action::Ally]);
    let options = ["first option: draw 1 card", "second option: may discard 1 card to lay 1 compass tile"];
    assert_eq!(phrases(&table), options);
    let due = "to choose: seat 0 (you): either draw 1 card, or may discard 1 card to lay 1 compass tile; \
               after that the power continues: advance Lyra by up to 1 space\n";
    assert!(text(&table, seat(0)).contains(due), "{}", text(&table, seat(0)));
    table.play(&[Action::Choose(1)]);
    let costs = ["discard 1 card to lay 1 compass tile", "do not pay: do not lay 1 compass tile"];
    assert_eq!(phrases(&table), costs);
    table.play(&[Action::Decline]);
    assert_eq!(phrases(&table), ["Lyra does not advance", "Lyra advances 1 to space 19 (Svalbard)"]);
}

#[test]
fn phrases_of_turns_and_sets_name_cards_and_results() {
    let mut table = Table::new(2);
    table.hand(0, &["hawk baby", "hawk madonna", "moth baby", "ermine baby", "joker"]);
    table.needle(3, 1);
    assert!(
        phrases(&table)[0]
            .starts_with("red: draw 3 cards, discard 1; Lyra advances 1 to space 1 (Jordan College)")
    );
    table.state.lyra = 8;
    assert!(phrases(&table)[0].contains("to space 9 (the objective); end the turn"));
    table.at_sets();
    let sets = phrases(&table);
    for set in [
        "play a pair of ermine (ermine baby, joker): take a random token of London",
        "play a pair of hawk (you choose the cards): take a random token of London",
        "play a triplet of baby (you choose the cards): lay 2 compass tiles",
        "end the turn",
    ] {
        assert!(sets.iter().any(|phrase| phrase == set), "{set}: {sets:?}");
    }
}

#[test]
fn kept_allies_are_reported_when_all_have_chosen() {
    let mut table = Table::dealt(3, 3);
    let dealt = table.state.seats[seat(2)].dealt.expect("two characters");
    let kept = table.game.catalogue().character(dealt[0]).name.clone();
    let first = reports(&mut table, 2, Action::Keep(0));
    assert_eq!(first, ["", "", &format!("seat 2 (you): keeps {kept} as ally\n")]);
    table.play_for(0, Action::Keep(0));
    let last = reports(&mut table, 1, Action::Keep(0));
    let passed = table.game.catalogue().character(dealt[1]).name.clone();
    assert!(last.iter().all(|report| report.contains(&kept)), "{last:?}");
    assert!(last[0].contains(&format!(", received {passed} (Magisterium ")), "{last:?}");
    assert!(!last[1].contains(&passed) && !last[2].contains(&passed), "{last:?}");
}

#[test]
fn drawn_and_stolen_cards_are_named_only_to_those_who_see_them() {
    // GC-13.1, GC-R38
    let mut table = Table::new(3);
    table.ally(0, "Tony Costa");
    table.hand(1, &["hawk baby", "joker", "flying spy"]);
    table.scripted(streams::STOLEN_CARDS, &[2]);
    table.chance.extend(streams::CARDS, [0]);
    table.light_blue();
    table.play(&[Action::Ally]);
    let seen = reports(&mut table, 0, Action::Opponent(1));
    assert_eq!(seen[0], "seat 0 (you): takes 1 card of seat 1: flying spy; draws 1 card: ermine madonna\n");
    assert_eq!(seen[1], "seat 0: takes 1 card of seat 1 (you): flying spy; draws 1 card\n");
    assert_eq!(seen[2], "seat 0: takes 1 card of seat 1; draws 1 card\n");
}

#[test]
fn taken_and_stolen_tokens_are_named_only_to_those_who_see_them() {
    // GC-13.1
    let mut table = Table::new(3);
    table.hand(0, &["hawk baby", "hawk madonna", "flying spy", "flying spy"]);
    table.scripted(streams::TOKENS, &[0]);
    table.at_sets();
    let pair = SetKind::Pair(DaemonId::new(6));
    let seen = reports(&mut table, 0, Action::Play(pair));
    let discards = "discards hawk madonna, hawk baby";
    assert_eq!(seen[0], format!("seat 0 (you): {discards}; takes a Jordan College token worth 3\n"));
    assert_eq!(seen[1], format!("seat 0: {discards}; takes a token of Jordan College\n"));
    table.tokens(2, &["London token worth 6"]);
    let spies = reports(&mut table, 0, Action::Play(SetKind::Spies));
    assert_eq!(spies[1], "seat 0: discards flying spy, flying spy\n");
    table.play(&[Action::Opponent(2)]);
    let london = table.game.catalogue().token(table.game.catalogue().tokens[6].kind).city;
    let stolen = reports(&mut table, 0, Action::StealWithBack(london));
    assert_eq!(stolen[0], "seat 0 (you): steals a London token worth 6 from seat 2\n");
    assert_eq!(stolen[1], "seat 0: steals a token of London from seat 2\n");
    assert_eq!(stolen[2], "seat 0: steals a London token worth 6 from seat 2 (you)\n");
}

#[test]
fn steps_tiles_and_the_end_of_a_period_are_reported() {
    let mut table = Table::new(2);
    table.state.lyra = 4;
    table.needle(2, 1);
    let red = reports(&mut table, 0, Action::Red);
    let step = "Lyra advances 1 to space 5 (London); 6 tokens of Jordan College leave the game\n";
    assert_eq!(red[1], format!("seat 0: red; draws 2 cards; {step}"));
    table.state.lyra = 9;
    table.at_sets();
    let end = reports(&mut table, 1, Action::EndTurn);
    assert!(end[0].starts_with("seat 1: ends the turn; open: "), "{end:?}");
    let open = table.state.open_tiles.kinds::<1>().lowest().expect("eight tiles are open");
    let first = table.state.chooser().expect("the draft has a first seat").number();
    let tile = super::super::catalogue::TileId::new(open);
    let took = reports(&mut table, first, Action::Tile(tile));
    let worth = table.game.catalogue().tiles[usize::from(open) - 1].value;
    assert_eq!(took[usize::from(1 - first)], format!("seat {first}: takes a truth tile worth {worth}\n"));
}
