use super::*;

/// The first words of ChaCha8 with an all-zero key: the published test vector of the cipher
/// (`3e00ef2f895f40d67f5bb8e81f09a5a1...`), read as little-endian words.
#[test]
fn seed_zero_gives_the_published_chacha8_words() {
    let mut rng = RngStream::new(0, 0);
    let words: Vec<u32> = (0..4).map(|_| rng.word()).collect();
    assert_eq!(words, [0x2fef_003e, 0xd640_5f89, 0xe8b8_5b7f, 0xa1a5_091f]);
}

/// The published test vector with every bit of key and nonce set: `e163bbf8c9a739d18925ee83...`.
#[test]
fn all_bits_of_a_key_count() {
    let mut rng = RngStream::keyed([0xff; 32].into(), u64::MAX);
    let words: Vec<u32> = (0..3).map(|_| rng.word()).collect();
    assert_eq!(words, [0xf8bb_63e1, 0xd139_a7c9, 0x83ee_2589]);
}

#[test]
fn a_resumed_stream_continues_where_it_stopped() {
    let mut rng = RngStream::new(99, 1);
    for _ in 0..77 {
        rng.below(45);
    }
    let mut resumed = RngStream::resume(99.into(), 1, rng.words());
    assert!((0..40).all(|_| resumed.below(68) == rng.below(68)));
}

#[test]
fn rewind_repeats_words_at_every_distance() {
    let all: Vec<u32> = {
        let mut rng = RngStream::new(99, 1);
        (0..200).map(|_| rng.word()).collect()
    };
    let cached = CACHED_WORDS as u64;
    for resumed in [0, 3, cached, cached + 1, 70] {
        let mut rng = RngStream::resume(99.into(), 1, resumed);
        for far in [0, 1, cached - 1, cached, cached + 1, 3, 150, 2] {
            rng.rewind();
            assert_eq!(rng.words(), 0);
            let again: Vec<u32> = (0..far).map(|_| rng.word()).collect();
            assert_eq!(
                (again.as_slice(), rng.words()),
                (&all[..again.len()], far),
                "from {resumed}, to {far}"
            );
        }
    }
}

#[test]
fn rewind_returns_to_the_mark_after_all_words_produced() {
    let mut fresh = RngStream::new(99, 1);
    let all: Vec<u32> = (0..200).map(|_| fresh.word()).collect();
    let (cached, mut rng) = (CACHED_WORDS, RngStream::new(99, 1));
    let mut mark = 0;
    for (far, back) in [(3, 1), (0, 0), (cached, cached - 1), (cached + 1, 2), (70, 0), (1, 1)] {
        for far in [far, back] {
            rng.rewind();
            let produced: Vec<u32> = (0..far).map(|_| rng.word()).collect();
            assert_eq!(produced, all[mark..mark + far], "{far} words from {mark} on");
        }
        mark += far.max(back);
        rng.mark();
        assert_eq!(rng.words(), mark as u64);
    }
}

#[test]
fn below_is_uniform() {
    let mut rng = RngStream::new(1, 0);
    let mut counts = [0u32; 7];
    for _ in 0..70_000 {
        counts[rng.below(7) as usize] += 1;
    }
    assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
}

#[test]
fn below_rejects_words_that_would_favour_small_numbers() {
    // With `n` just above 2^31, `below` rejects almost half of the words. So it uses more words than draws.
    let mut rng = RngStream::new(3, 0);
    for _ in 0..1_000 {
        assert!(rng.below((1 << 31) + 1) <= 1 << 31);
    }
    assert!((1_800..2_200).contains(&rng.words()), "{} words", rng.words());
}

#[test]
fn shuffle_reaches_every_permutation() {
    let mut rng = RngStream::new(11, 0);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let mut items = [1, 2, 3];
        rng.shuffle(&mut items);
        seen.insert(items);
    }
    assert_eq!(seen.len(), 6);
}
