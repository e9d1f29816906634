//! The steps by which sanctuaries that nobody saw are exchanged.

use boardwire_kernel::RngStream;

use crate::faraway::memory::{PLACED, Path};
use crate::faraway::resample::{Known, segments, step};

#[test]
fn two_cards_exchange_a_stretch_between_deals_both_were_in() {
    // FA-5.4
    let one = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 8 | 1 << 12 | PLACED;
    let other = 1 << 2 | 1 << 3 | 1 << 8 | 1 << 11;
    let stretches = |one, other| segments(one, other).collect::<Vec<Path>>();
    assert_eq!(stretches(one, other), [0b110, 1 << 5, 1 << 11 | 1 << 12 | PLACED]);
    assert_eq!(stretches(1 | 1 << 4 | PLACED, 1 << 2 | 1 << 5 | PLACED), [0b11_0101], "both placed");
    assert_eq!(stretches(one, one), [0; 0]);
}

#[test]
fn a_step_exchanges_up_to_three_pairs_of_any_cards() {
    // FA-5.4: one card of 45 has been dealt; one, two or three pairs have it among them in 8.6 % of the steps.
    let nothing = Known { own: 0, late: 0, placed: 0 };
    let (mut start, mut known, mut rng) = ([0; 45], [nothing; 45], RngStream::new(1, 0));
    start[44] = 1;
    let mut at = [0u32; 45];
    for _ in 0..20_000 {
        let mut paths = start;
        step(&mut paths, &known, 0, &mut rng);
        at[paths.iter().position(|&path| path == 1).expect("it is somewhere")] += 1;
    }
    // The standard deviation is 40.
    let moved: u32 = at[..44].iter().sum();
    assert!((1_500..1_950).contains(&moved), "{moved} moved");
    assert!(at[..44].iter().all(|&count| count > 8), "{at:?}");
    known[44].own = 1;
    for _ in 0..5_000 {
        let mut paths = start;
        step(&mut paths, &known, 1, &mut rng);
        assert_eq!(paths, start, "the viewer has seen it");
    }
}
