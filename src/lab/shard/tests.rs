use proptest::prelude::*;

use super::*;

#[test]
fn a_shard_is_written_as_it_is_read_and_others_are_refused() {
    for text in ["1/1", "4/4", "2/100000"] {
        assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
    }
    for text in [
        "0/4", "5/4", "1/0", "1", "a/b", "1/100001", "-1/4", "1/4/4", "",
    ] {
        let error = text.parse::<Shard>().unwrap_err();
        assert!(error.to_string().contains("write K/N"), "{error}");
    }
    let folder = Shard::new(2, 4).unwrap().folder(Path::new("results/plan"));
    assert_eq!(folder, Path::new("results/plan/shards/2-of-4"));
}

#[test]
fn no_shard_has_only_the_cells_that_come_last() {
    let division = Division::even(600, 4);
    let cells = |number| -> u64 {
        let chunks = division.chunks_of(Shard::new(number, 4).unwrap());
        let ranges = chunks.map(|chunk| division.cells_of(chunk));
        ranges.map(|range| range.end - range.start).sum()
    };
    assert_eq!([1, 2, 3, 4].map(cells), [153, 153, 150, 144]);
    assert_eq!(division.chunks(), 67);
}

#[test]
fn a_hundred_million_cells_make_a_manifest_of_a_thousand_lines() {
    let division = Division::even(100_000_000, 2);
    let first = Shard::new(1, 2).unwrap();
    assert!(division.chunks_of(first).count() <= 1_024);
    assert_eq!(Division::even(1_000_000, 4).cells_of(1), 4_096..8_192);
}

proptest! {
    #[test]
    fn every_cell_is_in_one_chunk_of_one_shard(cells in 1_u64..20_000, shards in 1_u64..200) {
        let division = Division::even(cells, shards);
        let mut chunks: Vec<u64> = (1..=shards)
            .flat_map(|number| {
                let shard = Shard::new(number, shards).unwrap();
                let chunks: Vec<u64> = division.chunks_of(shard).collect();
                assert!(chunks.iter().all(|chunk| division.shard_of(*chunk) == shard));
                chunks
            })
            .collect();
        chunks.sort_unstable();
        prop_assert_eq!(&chunks, &(0..division.chunks()).collect::<Vec<_>>());
        let all = chunks.into_iter().flat_map(|chunk| division.cells_of(chunk));
        prop_assert!(all.eq(0..cells));
    }

    #[test]
    fn no_shard_has_a_chunk_more_than_another(cells in 1_u64..1_000_000, shards in 1_u64..200) {
        let division = Division::even(cells, shards);
        let counts = (1..=shards).map(|number| {
            division.chunks_of(Shard::new(number, shards).unwrap()).count()
        });
        let counts: Vec<usize> = counts.collect();
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
    }
}
