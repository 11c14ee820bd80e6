// Dynamic measures operators that are called one by one against DALI's dynamic mode, against
// pipelines, and against compiled loops.
//
//	go run ./bench/dynamic                                     Bivouac alone
//	go run ./bench/dynamic -python .peers-pipeline/bin/python  and DALI (bench/dynamic/peers)
//	go run ./bench/dynamic -only call,chain                    less of it
//
// The sides are processes in turns, as in bench/pipeline. Every result is waited for before the
// next call, unless the case says otherwise; images have their words folded into one.
package main

import (
	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/proof/photos"
)

const images = 512

func ours(name, who string) turns.Side { return turns.Side{Name: "Bivouac, " + name, Who: who} }

func dali(name, who string, target float64) turns.Side {
	return turns.Side{Name: "DALI, " + name, Who: who, Target: target}
}

// eachMode are Bivouac and DALI, in the modes that both have, eager first.
func eachMode(target float64) []turns.Side {
	return []turns.Side{
		ours("eager", "eager"), ours("sync", "sync"), ours("deferred", "deferred"), ours("compiled", "compiled"),
		dali("eager", "dali-eager", target), dali("sync", "dali-sync", 0), dali("deferred", "dali-deferred", 0),
	}
}

// comparisons in the order in which they run. Ratios refer to the first row.
var comparisons = []turns.Comparison{
	{Name: "call", Title: "cast of 4 numbers", Unit: "call", Sides: eachMode(1)},
	{Name: "queued", Title: "cast of 4 numbers, 100 calls before the first is waited for", Unit: "call", Sides: []turns.Side{
		ours("eager", "eager"), ours("sync", "sync"), ours("deferred", "deferred"), dali("eager", "dali-eager", 1), dali("deferred", "dali-deferred", 0)}},
	{Name: "uniform", Title: "random.uniform, batch of 64", Unit: "call", Sides: eachMode(10)},
	{Name: "chain-1", Title: "random.uniform, random.normal, multiply, add, cast of one number each", Unit: "chain", Sides: compiled()},
	{Name: "chain-64", Title: "the same, batch of 64", Unit: "chain", Sides: append(compiled(), dali("eager", "dali-eager", 10))},
	{Name: "decode", Title: "JPEG files to RGB, resized to 224x224, batch of 64", Unit: "image", Threaded: true, Sides: []turns.Side{
		ours("eager", "eager"), {Name: "Bivouac, pipeline", Who: "pipeline", Target: 0.95}, ours("compiled", "compiled"), ours("sync", "sync"),
		dali("eager", "dali-eager", 1), dali("compiled", "dali-captured", 0)}},
}

// compiled are a compiled loop and what it should be twice as fast as.
func compiled() []turns.Side {
	eager := ours("eager", "eager")
	eager.Target = 2
	return []turns.Side{ours("compiled", "compiled"), eager, ours("sync", "sync"), ours("deferred", "deferred")}
}

func main() {
	b := &turns.Bench{
		Name: "dynamic", Comparisons: comparisons, Own: []string{"eager", "sync", "deferred", "compiled", "pipeline"}, Begin: begin,
		Prepare: func(dir string) error { return photos.Write(dir, images) },
		Peers:   map[string]string{"python": "DALI"},
	}
	b.Main()
}
