//! The steps of the random walk that exchange hidden sanctuaries.

use std::collections::BTreeMap;

use boardwire_kernel::RngStream;

use crate::faraway::memory::{PLACED, Path};
use crate::faraway::resample::{CardKnowledge, Part, differing_stretches, shuffle_path_parts, walk_step};

const UNSEEN: CardKnowledge = CardKnowledge { own: 0, late: 0, placed: 0 };

#[test]
fn two_cards_exchange_a_stretch_between_deals_both_were_in() {
    // FA-5.4
    let one = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 8 | 1 << 12 | PLACED;
    let other = 1 << 2 | 1 << 3 | 1 << 8 | 1 << 11;
    let stretches = |one, other| differing_stretches(one, other).collect::<Vec<Path>>();
    assert_eq!(stretches(one, other), [0b110, 1 << 5, 1 << 11 | 1 << 12 | PLACED]);
    assert_eq!(stretches(1 | 1 << 4 | PLACED, 1 << 2 | 1 << 5 | PLACED), [0b11_0101], "both placed");
    assert_eq!(stretches(one, one), [0; 0]);
}

#[test]
fn a_step_exchanges_up_to_three_pairs_of_any_cards() {
    // FA-5.4: one of 45 cards has been dealt. It is in one of the one to three pairs in 8.6 % of the steps.
    let (mut start, mut known, mut rng) = ([0; 45], [UNSEEN; 45], RngStream::new(1, 0));
    start[44] = 1;
    let mut at = [0u32; 45];
    for _ in 0..20_000 {
        let mut paths = start;
        walk_step(&mut paths, &known, 0, &mut rng);
        at[paths.iter().position(|&path| path == 1).expect("it is somewhere")] += 1;
    }
    // The standard deviation is 40.
    let moved: u32 = at[..44].iter().sum();
    assert!((1_500..1_950).contains(&moved), "{moved} moved");
    assert!(at[..44].iter().all(|&count| count > 8), "{at:?}");
    known[44].own = 1;
    for _ in 0..5_000 {
        let mut paths = start;
        walk_step(&mut paths, &known, 1, &mut rng);
        assert_eq!(paths, start, "the viewer has seen it");
    }
}

#[test]
fn cards_of_a_deal_exchange_what_is_known_alike_of_the_time_before_it_and_after_it() {
    // FA-5.4: three cards were in one deal. They came from three deals and went to three; the fourth card was not in it.
    let deal: Path = 1 << 8;
    let mut start = [0; 45];
    start[..4].copy_from_slice(&[
        1 | deal | 1 << 12 | PLACED,
        1 << 1 | deal | 1 << 13,
        1 << 7 | deal | 1 << 14,
        1 << 2 | 1 << 15,
    ]);
    let own = |own| CardKnowledge { own, ..UNSEEN };
    let placed = |deal| CardKnowledge { placed: deal + PLACED, ..UNSEEN };
    // The knowledge of the three cards; then the number of exchanges possible before the deal, and after it.
    let cases = [
        ([UNSEEN, UNSEEN, UNSEEN], 6, 6),
        ([own(deal), own(deal), own(deal)], 6, 6),
        ([UNSEEN, UNSEEN, own(1 << 7)], 2, 6),
        ([own(deal), own(deal), CardKnowledge { own: deal, late: deal, placed: 0 }], 2, 6),
        ([UNSEEN, UNSEEN, own(1 << 14)], 6, 2),
        ([own(1 << 14), own(1 << 14), CardKnowledge { own: 1 << 14, late: 1 << 14, placed: 0 }], 6, 2),
        ([placed(1 << 12), UNSEEN, UNSEEN], 6, 2),
        ([placed(deal), UNSEEN, UNSEEN], 6, 2),
        ([placed(1 << 12), placed(1 << 13), UNSEEN], 6, 1),
    ];
    let mut rng = RngStream::new(2, 0);
    for (at, (of_three, before, after)) in cases.into_iter().enumerate() {
        let mut known = [UNSEEN; 45];
        known[..3].copy_from_slice(&of_three);
        let mut times = BTreeMap::<_, u32>::new();
        for _ in 0..36_000 {
            let mut paths = start;
            for part in [Part::Before, Part::After] {
                shuffle_path_parts(&mut paths, &known, deal, part, &mut rng);
            }
            assert_eq!(paths[3..], start[3..], "case {at}: they were not there");
            *times.entry([paths[0], paths[1], paths[2]]).or_default() += 1;
        }
        assert_eq!(times.len(), before * after, "case {at}");
        let even = 36_000 / u32::try_from(before * after).expect("few");
        for (paths, count) in times {
            assert!(paths.iter().all(|path| path & deal != 0), "case {at}: all were in the deal");
            // The limit is six standard deviations.
            assert!(count.abs_diff(even).pow(2) <= 36 * even, "case {at}: {count} times {paths:?}");
        }
    }
}
