// Readers measures how fast records are read: against raw reads of the same bytes, and against
// DALI, the webdataset package, streaming and Grain.
//
//	go run ./bench/readers                       Bivouac and raw reads
//	go run ./bench/readers -dali D/python -peers P/python
//	                                             and the others (bench/readers/peers)
//	go run ./bench/readers -only tfrecord-1k     less of it
//
// The files are made in bench/results/readers and lie in the memory of the system, so that the disk
// is not measured. Every side folds all bytes of a record into a number, and must get the same one.
// Pipelines are compared with DALI once so, and once without reading what they deliver.
package main

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
)

// A kind is a format with its peers. A peer that reads records in its own order only takes part in
// the comparison of sequential reading.
type kind struct {
	name   string
	title  string
	dali   bool // DALI has a reader of it
	peer   string
	target float64
}

var kinds = []kind{
	{name: "tfrecord", title: "TFRecord", dali: true},
	{name: "tar", title: "webdataset", dali: true, peer: "webdataset", target: 3},
	{name: "recordio", title: "RecordIO", dali: true},
	{name: "mds", title: "MDS", peer: "streaming", target: 3},
	{name: "tokens", title: "token windows"},
}

func comparisons() (all []turns.Comparison) {
	for _, k := range kinds {
		for _, size := range []string{"1k", "100k"} {
			for _, way := range []string{"in order", "shuffled"} {
				short := map[string]string{"in order": "order", "shuffled": "shuffled"}[way]
				c := turns.Comparison{Name: fmt.Sprint(k.name, "-", size, "-", short), Unit: "record",
					Title: fmt.Sprintf("%s, records of %sB, %s", k.title, size, way),
					Sides: []turns.Side{
						{Name: "Bivouac", Who: "bivouac"},
						{Name: "raw reads", Who: "pread", Target: 0.8, Like: "bivouac"}}}
				if k.peer != "" {
					c.Sides = append(c.Sides, turns.Side{Name: k.peer, Who: k.peer, Target: k.target})
				}
				all = append(all, c)
			}
			if k.dali {
				all = append(all, batchesOf(fmt.Sprint(k.name, "-", size), "record",
					fmt.Sprintf("%s, records of %sB", k.title, size))...)
			}
		}
	}
	for _, name := range []string{"numpy", "coco"} {
		all = append(all, batchesOf(name, "sample", name)...)
	}
	return append(all,
		turns.Comparison{Name: "arrayrecord-1k-shuffled", Unit: "record",
			Title: "ArrayRecord written by Grain's library, records of 1 kB, shuffled",
			Sides: []turns.Side{{Name: "Bivouac", Who: "bivouac"}, {Name: "Grain", Who: "grain", Target: 3}}},
		turns.Comparison{Name: "parquet-60k-order", Unit: "row",
			Title: "Parquet written by pyarrow, blobs of 60 kB, in order",
			Sides: []turns.Side{{Name: "Bivouac", Who: "bivouac"}, {Name: "pyarrow", Who: "pyarrow", Target: 1}}},
		turns.Comparison{Name: "parquet-lists-order", Unit: "row",
			Title: "Parquet written by pyarrow, lists of 2,048 int32, in order",
			Sides: []turns.Side{{Name: "Bivouac", Who: "bivouac"}, {Name: "pyarrow", Who: "pyarrow"}}})
}

// batchesOf compares pipelines with one thread twice: the consumer looks at one sample of each
// batch, or folds all bytes. DALI hands out views of a mapped file, whose bytes may be read only
// then.
func batchesOf(name, unit, title string) []turns.Comparison {
	sides := func(target float64) []turns.Side {
		return []turns.Side{{Name: "Bivouac", Who: "pipeline"}, {Name: "DALI", Who: "dali", Target: target}}
	}
	title += ", batches of 64 of a pipeline with one thread"
	return []turns.Comparison{
		{Name: name + "-batches", Unit: unit, Title: title, Sides: sides(2)},
		{Name: name + "-touched", Unit: unit, Title: title + ", all bytes read by the consumer", Sides: sides(2)}}
}

func main() {
	b := &turns.Bench{
		Name: "readers", Comparisons: comparisons(), Own: []string{"bivouac", "pipeline", "pread"},
		Begin: begin, Prepare: prepare,
		Peers: map[string]string{"dali": "DALI", "peers": "webdataset, Grain and pyarrow", "streaming": "mosaicml-streaming"},
	}
	b.Main()
}
