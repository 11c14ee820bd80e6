// Loader measures what a loader costs beside its data set: torch's DataLoader,
// torchdata's StatefulDataLoader, Grain, and streaming's order of an epoch.
//
//	go run ./bench/loader                              Bivouac alone
//	go run ./bench/loader -torch T/python -grain G/python -streaming S/python
//	                                                   and the others (bench/loader/peers)
//	go run ./bench/loader -only batch-64,state         less of it
//
// The data set gives its ids and costs nothing. The sides are processes in turns,
// as in bench/pipeline; the consumer looks at each batch.
package main

import "github.com/bivouac-ml/bivouac/bench/internal/turns"

func side(name, who string, target float64) turns.Side {
	return turns.Side{Name: name, Who: who, Target: target}
}

var (
	ours     = side("Bivouac", "bivouac", 0)
	saving   = side("Bivouac, a state of each batch", "states", 0)
	torch    = func(target float64) turns.Side { return side("torch DataLoader", "torch", target) }
	stateful = func(target float64) turns.Side { return side("StatefulDataLoader", "stateful", target) }
	stated   = side("StatefulDataLoader, a state of each batch", "stateful-states", 0)
	grain    = func(target float64) turns.Side { return side("Grain", "grain", target) }
)

// comparisons in the order in which they run. The targets come from the design.
var comparisons = []turns.Comparison{
	{Name: "batch-1", Title: "batches of 1, shuffled, read by the caller", Unit: "step", Sides: []turns.Side{saving, ours, torch(10), stateful(10), grain(0)}},
	{Name: "batch-64", Title: "batches of 64, shuffled, read by the caller", Unit: "step",
		Sides: []turns.Side{saving, ours, torch(10), stateful(10), stated, grain(0), side("Grain, its iterator", "grain-iterator", 0)}},
	{Name: "batch-1024", Title: "batches of 1,024, shuffled, read by the caller", Unit: "step", Sides: []turns.Side{saving, ours, torch(10), stateful(10), grain(0)}},
	{Name: "workers-64", Title: "batches of 64, shuffled, 2 workers", Unit: "step", Sides: []turns.Side{saving, ours, torch(50), stateful(50), stated}},
	{Name: "workers-1024", Title: "batches of 1,024, shuffled, 2 workers", Unit: "step", Sides: []turns.Side{saving, ours, torch(50), stateful(50)}},
	{Name: "state", Title: "a state, shuffled", Unit: "state", Sides: []turns.Side{ours, stateful(0), grain(0)}},
	{Name: "resume-7", Title: "a new loader, a state in the middle and the first batch, 10^7 samples shuffled", Unit: "resume", Sides: []turns.Side{ours, stateful(0), grain(0)}},
	{Name: "resume-9", Title: "the same, 10^9 samples", Unit: "resume", Sides: []turns.Side{ours, grain(0)}},
	{Name: "index", Title: "permuted indices one by one, 10^9 samples", Unit: "place", Sides: []turns.Side{ours, grain(0)}},
	{Name: "indices", Title: "permuted indices in blocks (10^9 samples; torch 10^7, into memory)", Unit: "place", Sides: []turns.Side{ours, side("torch.randperm", "torch", 0)}},
	{Name: "flat", Title: "batches of 64 by the size of the data set, a state of each", Unit: "step", Sides: []turns.Side{
		{Name: "10^3 samples", Who: "states", Use: "flat-3"}, {Name: "10^6 samples", Who: "states", Use: "flat-6"}, {Name: "10^9 samples", Who: "states", Use: "flat-9"}}},
	{Name: "epoch", Title: "one place in the order of an epoch not entered before, 10^7 samples", Unit: "place", Sides: []turns.Side{ours}},
	resumedOrders("py1e-6", "10^6 samples, py1e"),
	resumedOrders("py1e-7", "10^7 samples, py1e"),
	resumedOrders("py1s-6", "10^6 samples, py1s"),
	resumedOrders("py1s-7", "10^7 samples, py1s"),
}

func main() {
	b := &turns.Bench{
		Name: "loader", Comparisons: comparisons, Own: []string{"bivouac", "states", "exact"}, Begin: begin,
		Prepare: func(string) error { return nil },
		Peers:   map[string]string{"torch": "torch and torchdata", "grain": "Grain", "streaming": "mosaicml-streaming"},
	}
	b.Main()
}
