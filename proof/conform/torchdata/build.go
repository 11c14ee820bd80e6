package torchdata

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/logtest"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// build makes the loader of an entry "new".
func (p *tdPlay) build(name string, rest []json.RawMessage) error {
	if old := p.loaders[name]; old != nil {
		delete(p.loaders, name)
		if err := old.close(); err != nil {
			return err
		}
	}
	over := map[string]json.RawMessage{}
	if len(rest) > 0 {
		if err := json.Unmarshal(rest[0], &over); err != nil {
			return err
		}
	}
	var l tdPlayer
	var err error
	if p.Node != nil {
		l, err = p.buildNodes(merged(p.Node, over))
	} else {
		l, err = p.buildLoader(merged(p.Loader, over))
	}
	if err != nil {
		return err
	}
	p.loaders[name] = &tdSeat{tdPlayer: l}
	return nil
}

func merged(a, over map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	maps.Copy(out, over)
	return out
}

// take removes a member that is not one of the configuration; ok is false where it
// is absent.
func take(m map[string]json.RawMessage, key string, into any) (ok bool, err error) {
	raw, ok := m[key]
	delete(m, key)
	if !ok {
		return false, nil
	}
	if r, isRaw := into.(*json.RawMessage); isRaw {
		*r = raw
		return true, nil
	}
	return true, strictly(raw, into)
}

// buildLoader makes StatefulDataLoader(dataset, **args).
func (p *tdPlay) buildLoader(args map[string]json.RawMessage) (tdPlayer, error) {
	d := &tdData{}
	if err := strictly(p.Dataset, d); err != nil {
		return nil, err
	}
	mapped := d.mapped()
	var samples torchdata.Samples
	if mapped != nil {
		samples = mapped
	}
	o := torchdata.Options[any, any]{
		OnError: faults.Policy{Action: faults.PassOn},
		Log:     logtest.New(func(m string) { p.warnings = append(p.warnings, m) }),
	}
	epochs, err := p.samplers(&o, args, samples)
	if err != nil {
		return nil, err
	}
	if err := p.functions(&o, args); err != nil {
		return nil, err
	}
	if o, err = configured(args, o); err != nil {
		return nil, err
	}
	if mapped != nil {
		l, err := torchdata.New(mapped, o)
		return &tdLoader{l, mapped, epochs}, err
	}
	data, err := d.iterable()
	if err != nil {
		return nil, err
	}
	l, err := torchdata.NewIterable(data, o)
	return &tdLoader{l, data, nil}, err
}

// configured reads what is left of the arguments as a configuration.
func configured(args map[string]json.RawMessage, base torchdata.Options[any, any]) (torchdata.Options[any, any], error) {
	b, err := json.Marshal(args)
	if err != nil {
		return base, err
	}
	return torchdata.FromConfig(b, base)
}

// samplers takes the samplers out of the arguments; epochs is the one that
// set_epoch is for.
func (p *tdPlay) samplers(o *torchdata.Options[any, any], args map[string]json.RawMessage, samples torchdata.Samples) (epochs order.Sampler, err error) {
	var raw json.RawMessage
	if ok, err := take(args, "sampler", &raw); err != nil {
		return nil, err
	} else if ok {
		if o.Sampler, err = tdSamplerOf(raw, samples, p.global); err != nil {
			return nil, err
		}
		epochs = o.Sampler
	}
	if ok, err := take(args, "batch_sampler", &raw); err != nil {
		return nil, err
	} else if ok {
		if o.BatchSampler, err = tdBatchSamplerOf(raw, samples, p.global); err != nil {
			return nil, err
		}
		if b, ok := o.BatchSampler.(interface{ Sampler() order.Sampler }); ok {
			epochs = b.Sampler()
		}
	}
	var seed int64
	own, err := take(args, "generator_seed", &seed)
	if err != nil {
		return nil, err
	}
	o.Global = p.global
	if own {
		o.Generator = new(torchdata.NewGenerator(uint64(seed)))
	}
	return epochs, nil
}

// functions takes those out of the arguments.
func (p *tdPlay) functions(o *torchdata.Options[any, any], args map[string]json.RawMessage) error {
	var name string
	if ok, err := take(args, "collate_fn", &name); err != nil {
		return err
	} else if ok {
		if o.CollateFn = tdCollate[name]; o.CollateFn == nil {
			return fmt.Errorf("unknown collate_fn %q", name)
		}
		if name == "identity" && string(args["batch_size"]) == "null" {
			o.CollateFn = nil // the item itself
		}
	}
	if ok, err := take(args, "worker_init_fn", &name); err != nil {
		return err
	} else if ok {
		if o.WorkerInitFn = tdInits[name]; o.WorkerInitFn == nil {
			return fmt.Errorf("unknown worker_init_fn %q", name)
		}
	}
	return nil
}

var tdCollate = map[string]func([]any) (any, error){
	"identity": func(items []any) (any, error) { return append([]any{}, items...), nil },
	"fail":     func([]any) (any, error) { return nil, &tdError{"Boom", "failing in collate"} },
}

var tdInits = map[string]func(context.Context) error{
	"set_seed": func(ctx context.Context) error {
		info, _ := loader.WorkerInfoOf(ctx)
		w, ok := torchdata.WorkerOf(ctx)
		if !ok {
			return fmt.Errorf("there is no worker")
		}
		w.Torch = new(torchdata.NewGenerator(uint64(1000 + info.ID)))
		return nil
	},
	"fail": func(ctx context.Context) error {
		info, _ := loader.WorkerInfoOf(ctx)
		return &tdError{"Boom", fmt.Sprint("failing in worker_init_fn ", info.ID)}
	},
}
