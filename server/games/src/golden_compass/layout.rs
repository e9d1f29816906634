//! The fields of a view.

use boardwire_kernel::{Field, Meaning, ViewLayout};

use super::catalogue::Catalogue;
use super::limits::{COLLECTING, HAND, PLACING, SEATS};

/// The largest stamp or age of a hidden card: there is at most one a hidden place.
const MOST_RETURNS: u16 = 48;
const _: () = assert!((SEATS - 1) * HAND == 48);

/// What is to be decided, by code.
pub(super) const DECISIONS: [&str; 22] = [
    "keep an ally",
    "red or light blue",
    "action",
    "who takes the airship",
    "whose dust",
    "whose cards",
    "whose token",
    "whose compass tiles",
    "back of the token",
    "option",
    "pay or decline",
    "card to pay",
    "card just drawn to discard",
    "card over the hand limit",
    "steps",
    "token to lay out",
    "set or end of turn",
    "card of a set",
    "airship: cards or tile",
    "card for the airship",
    "truth tile",
    "none: the game is over",
];

const SETS: [&str; 6] = ["none", "pair", "triplet", "spies", "wild pair", "short triplet"];

fn size(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Places of hidden things as words: the table, then seats from the viewer on.
fn places(seats: u8) -> Vec<String> {
    let name = |place: u8| match place {
        0 => "at its city or gone".to_owned(),
        1 => "the viewer's".to_owned(),
        left => format!("with seat +{}", left - 1),
    };
    let words = |mask: u16| {
        let parts: Vec<_> = (0..=seats).filter(|place| mask >> place & 1 == 1).map(name).collect();
        if parts.is_empty() { "nowhere".to_owned() } else { parts.join(" or ") }
    };
    (0..2u16 << seats).map(words).collect()
}

fn token_codes(catalogue: &Catalogue, seats: u8) -> Vec<String> {
    let mut codes = places(seats);
    for seat in 0..seats {
        for city in &catalogue.cities[COLLECTING..] {
            codes.push(format!("laid out by seat +{seat} in {}", city.name));
        }
    }
    codes
}

fn holder_codes(seats: u8) -> Vec<String> {
    let words = |mask: u16| {
        let parts: Vec<_> = (1..seats).filter(|left| mask >> (left - 1) & 1 == 1).collect();
        let parts: Vec<_> = parts.iter().map(|left| format!("seat +{left}")).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(" or ") }
    };
    (0..1u16 << (seats - 1)).map(words).collect()
}

/// Places a hand has for a moment.
pub(super) fn room(catalogue: &Catalogue) -> usize {
    usize::from(catalogue.hand_limit + catalogue.gain())
}

/// The layout of a view at a table of `seats`.
#[expect(clippy::too_many_lines, reason = "one table, a field a row")]
pub(super) fn layout(catalogue: &Catalogue, seats: u8) -> ViewLayout {
    let all = u16::from(seats);
    let others = all - 1;
    let hand = size(room(catalogue));
    let decks = catalogue.decks[usize::from(seats)];
    let copies: u16 = catalogue.cards.iter().map(|card| u16::from(card.count * decks)).sum();
    let values = size(catalogue.tiles.len());
    let tiles = catalogue.tiles.iter().map(|tile| u16::from(tile.1)).max().unwrap_or(0);
    let tokens = size(catalogue.tokens.len());
    let slots = catalogue.cities.iter().map(|city| u16::from(city.slots)).max().unwrap_or(0);
    let (compass, dust) = (u16::from(catalogue.compass), u16::from(catalogue.dust));
    let symbols = catalogue.characters.iter().map(|card| u16::from(card.magisterium)).max().unwrap_or(0);
    let ids = size(catalogue.daemons.len().max(catalogue.symbols.len()));
    let field =
        |name, shape: &[u16], max, meaning, doc| Field { name, shape: shape.to_vec(), max, meaning, doc };
    let count = |name, shape: &[u16], max, doc| field(name, shape, max, Meaning::Count, doc);
    let seat = |name, shape: &[u16], doc| field(name, shape, all, Meaning::Seat, doc);
    let id = |name, shape: &[u16], table, rows: usize, doc| {
        field(name, shape, size(rows), Meaning::Id { table }, doc)
    };
    let code = |name, shape: &[u16], names: Vec<String>, doc| {
        field(name, shape, size(names.len()) - 1, Meaning::Code { names }, doc)
    };
    let words = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let cards = |name, shape: &[u16], doc| id(name, shape, "cards", catalogue.cards.len(), doc);
    let characters =
        |name, shape: &[u16], doc| id(name, shape, "characters", catalogue.characters.len(), doc);
    let fields = vec![
        code("decision", &[], words(&DECISIONS), "What is to be decided."),
        seat("chooser", &[], "Who decides; none while all keep allies, and at the end."),
        count("period", &[], 3, "The period, from 1."),
        seat("first", &[], "First seat of the period."),
        seat("active", &[], "Whose turn it is."),
        count("turn", &[], u16::MAX, "Turns of the whole game, from 1; 65535 and more are alike."),
        count("still", &[], 1000, "Turns in a row without a step; 1000 and more are alike."),
        count("lyra", &[], catalogue.steps().into(), "Lyra's steps from the start."),
        id("axis", &[], "axes", catalogue.axes.len(), "Where the needle points."),
        seat("airship", &[], "Who holds the airship."),
        cards("hand", &[hand], "The viewer's Lyra cards, ascending."),
        count("hand_sizes", &[all], hand, "Lyra cards in hand, by seat."),
        count("draw_pile", &[], copies, "Cards in the draw pile."),
        count(
            "copies",
            &[copies],
            2 + MOST_RETURNS,
            "Every copy of every card type, by type: first those hidden, ascending, each in no hand place whose \
             number in hidden_places is less; then 1 for each in a hand and known, 0 for each discarded.",
        ),
        count(
            "hidden_places",
            &[others, hand],
            2 + MOST_RETURNS,
            "Hand places of each opponent whose card may be unknown, ascending: 0 none, else the largest number \
             in copies a card there can have.",
        ),
        cards(
            "taken_cards",
            &[others * hand],
            "Cards taken from the viewer's hand and still in another, ascending.",
        ),
        code("taken_holders", &[others * hand], holder_codes(seats), "Who may hold each of taken_cards."),
        characters("dealt", &[2], "The viewer's two characters, until allies are shown."),
        code(
            "kept",
            &[all],
            words(&["not yet", "the first, or another seat's choice", "the second"]),
            "Who has kept an ally; which, only to the viewer.",
        ),
        characters("allies", &[all], "Allies by seat."),
        count("magisterium", &[all], 2 * symbols, "Magisterium values by seat."),
        characters("under", &[], "The card under the viewer's ally."),
        characters("passed", &[], "The card the viewer passed to the left."),
        count("supply", &[all], compass, "Compass tiles not in use, by seat."),
        count("compass", &[all], compass, "Compass tiles on the objective, by seat."),
        count("dust", &[all], dust, "Dust tiles by seat."),
        count("dust_supply", &[], dust, "Dust tiles in the supply."),
        count("truth", &[all, values], tiles, "Truth tiles by seat and value, rows of the table tiles."),
        count("backs", &[all, size(COLLECTING)], slots, "Unplaced tokens by seat and city of their back."),
        count("lying", &[size(COLLECTING)], slots, "Tokens still lying at each of the first four cities."),
        count("circles", &[size(PLACING)], slots, "Tokens laid out in each city of the last period."),
        code(
            "tokens",
            &[tokens],
            token_codes(catalogue, seats),
            "Where each token is or may be; equal ones ascending.",
        ),
        count("bag", &[values], tiles, "Truth tiles in the bag, by value."),
        count("open", &[values], tiles, "Open truth tiles, by value."),
        count("passages", &[], catalogue.passages.into(), "Passage tiles drawn."),
        seat("gave_up", &[], "Who gave up a truth tile for the airship."),
        seat("order", &[all], "Seats in the order of the draft."),
        code("set", &[], words(&SETS), "The set being put together."),
        count("set_of", &[], ids, "Its daemon or symbol, from 1."),
        count("due", &[], 255, "Cards or tiles still due, or the most steps."),
        seat("victim", &[], "Who is being robbed of a token."),
        id("effect", &[], "effects", catalogue.ops.len(), "The effect being decided on."),
        cards(
            "fresh",
            &[catalogue.looked_at().into()],
            "The viewer's cards just drawn of which some must go.",
        ),
        count(
            "rights",
            &[2],
            255,
            "Wild pairs and short triplets the active seat may still play in this turn.",
        ),
    ];
    ViewLayout { fields }
}
