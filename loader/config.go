package loader

import "github.com/bivouac-ml/bivouac/loader/internal/config"

// FromConfig returns base with the settings of a YAML or JSON text. It uses the names of torch's
// DataLoader for options that torch has, so that one file configures both:
//
//	batch_size: 64            # null: no batching
//	shuffle: true
//	num_workers: 4
//	prefetch_factor: 2        # null: the default
//	persistent_workers: true
//	drop_last: false
//	timeout: 30               # seconds
//	pin_memory: false
//	pin_memory_device: ""     # or cpu; no effect
//	multiprocessing_context: fork # or spawn, forkserver; no effect
//	snapshot_every_n_steps: 1 # 0 or null: never
//	in_order: true
//	seed: 7                   # from here on torch has no such option
//	name: images
//	global_batch: 512
//	rank: 0
//	world: 8
//	streams: 4
//	uneven: repeat sample     # or: end early
//	settle_every_n_steps: 100
//	on_error: {action: skip, retries: 2, backoff: 0.1}
//
// Code (dataset, sampler, batch_sampler, collate_fn, worker_init_fn, generator) is passed in base.
// FromConfig finds the mistakes that the types of Options exclude, and names the line: unknown
// names, names that come twice, values of another type, and sizes that are not positive. New finds
// options that exclude each other.
func FromConfig[S, B any](text []byte, base Options[S, B]) (Options[S, B], error) {
	root, err := (&config.Text{Op: "loader.FromConfig"}).Parse(text)
	if err != nil || root.Node == nil {
		return base, err
	}
	o := base
	if err := root.Each(func(name string, v config.Value) error { return v.SetOption(&o, name) }); err != nil {
		return base, err
	}
	return o, nil
}
