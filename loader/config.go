package loader

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

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
	root, err := (&configText{op: "loader.FromConfig"}).parse(text)
	if err != nil || root.node == nil {
		return base, err
	}
	o := base
	if err := root.each(o.set); err != nil {
		return base, err
	}
	return o, nil
}

// configText is the text of a configuration, for errors.
type configText struct {
	op      string // begins errors
	file    string // or ""
	inspect bool   // environment variables may be missing
}

// parse returns the value of the whole text. Its node is nil if the text is empty.
func (c *configText) parse(text []byte) (configValue, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		where := ""
		if _, rest, ok := strings.Cut(err.Error(), "line "); ok {
			line, _, _ := strings.Cut(rest, ":")
			where = "line " + line
		}
		if c.file != "" {
			where = strings.TrimPrefix(where+" of "+c.file, " of ")
		}
		return configValue{}, c.wrong(where, "YAML or JSON", "text that is neither")
	}
	if len(document.Content) == 0 {
		return configValue{in: c}, nil
	}
	return configValue{"", document.Content[0], c}, nil
}

func (c *configText) wrong(field, want, got string) *errs.Error {
	return &errs.Error{Kind: errs.Invalid, Op: c.op, Subject: field, Want: want, Got: got}
}

// set assigns a value to an option.
func (o *Options[S, B]) set(name string, v configValue) (err error) {
	switch name {
	case "batch_size":
		o.BatchSize = NoBatching
		if !v.null() {
			o.BatchSize, err = v.integer(1)
		}
	case "shuffle":
		if !v.null() {
			o.Shuffle, err = v.boolean()
		}
	case "num_workers":
		o.Workers, err = v.integer(0)
	case "prefetch_factor":
		if !v.null() {
			o.Prefetch, err = v.integer(1)
		}
	case "persistent_workers":
		o.Persistent, err = v.boolean()
	case "drop_last":
		var drop bool
		drop, err = v.boolean()
		o.Tail = order.DropLast(drop)
	case "timeout":
		o.Timeout, err = v.seconds()
	case "pin_memory":
		o.Pinned, err = v.boolean()
	case "pin_memory_device":
		err = v.oneOf("", "cpu")
	case "multiprocessing_context":
		if !v.null() {
			err = v.oneOf("fork", "spawn", "forkserver")
		}
	case "snapshot_every_n_steps":
		o.SnapshotEvery, err = v.interval()
	case "in_order":
		var in bool
		in, err = v.boolean()
		o.OutOfOrder = !in
	case "dataset", "sampler", "batch_sampler", "collate_fn", "worker_init_fn", "generator":
		return v.wrong("no " + name + ", which is code and given in Options")
	default:
		return o.setOwn(name, v)
	}
	return err
}

// setOwn does the same as set for options that torch does not have.
func (o *Options[S, B]) setOwn(name string, v configValue) (err error) {
	switch name {
	case "name":
		o.Name, err = v.text()
	case "seed":
		o.Seed, err = v.unsigned()
	case "global_batch":
		o.GlobalBatch, err = v.integer(1)
	case "rank":
		o.Rank, err = v.integer(0)
	case "world":
		o.World, err = v.integer(1)
	case "streams":
		o.Streams, err = v.integer(1)
	case "uneven":
		var text string
		if text, err = v.text(); err != nil {
			return err
		}
		if o.Uneven, err = order.ParseUneven(text); err != nil {
			return v.wrong(`"repeat sample" or "end early"`)
		}
	case "settle_every_n_steps":
		o.SettleEvery, err = v.integer(0)
	case "on_error":
		err = v.each(func(name string, v configValue) error { return setPolicy(&o.OnError, name, v) })
	default:
		return v.unknown(name, configNames)
	}
	return err
}

// configNames are the option names that a configuration may have.
var configNames = []string{"batch_size", "shuffle", "num_workers", "prefetch_factor", "persistent_workers", "drop_last",
	"timeout", "pin_memory",
	"pin_memory_device", "multiprocessing_context", "snapshot_every_n_steps", "in_order", "seed", "name", "global_batch",
	"rank", "world", "streams", "uneven", "settle_every_n_steps", "on_error"}

// unknown returns the error for a name that is not one of names.
func (v configValue) unknown(name string, names []string) error {
	e := v.in.wrong(v.where(), "a known name", strconv.Quote(document.CutText(name, 60)))
	e.Remedy = errs.DidYouMean(name, names)
	return e
}

func setPolicy(p *faults.Policy, name string, v configValue) (err error) {
	switch name {
	case "action":
		var text string
		if text, err = v.text(); err != nil {
			return err
		}
		if p.Action, err = faults.ParseAction(text); err != nil || p.Action > faults.Skip {
			return v.wrong(`"fail", "pass on" or "skip"`)
		}
	case "retries":
		p.Retries, err = v.integer(0)
	case "backoff":
		p.Backoff, err = v.seconds()
	default:
		return v.unknown(name, []string{"action", "retries", "backoff"})
	}
	return err
}

// configValue is a value of a configuration with its name.
type configValue struct {
	name string
	node *yaml.Node
	in   *configText
}

// each calls set for each entry of a mapping. It returns an error for a name that comes twice.
func (v configValue) each(set func(name string, v configValue) error) error {
	if v.node.Kind != yaml.MappingNode {
		return v.wrong("names and values")
	}
	prefix := ""
	if v.name != "" {
		prefix = v.name + "."
	}
	var seen []string
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		v := configValue{prefix + key.Value, v.node.Content[i+1], v.in}
		if key.Kind != yaml.ScalarNode || key.Tag != "!!str" {
			return v.wrong("a name")
		}
		if slices.Contains(seen, key.Value) {
			return v.wrong("each name at most once")
		}
		seen = append(seen, key.Value)
		if err := set(key.Value, v); err != nil {
			return err
		}
	}
	return nil
}

// where says where the value stands.
func (v configValue) where() string {
	where := "line " + strconv.Itoa(v.node.Line)
	if v.name != "" {
		where = v.name + " in " + where
	}
	if v.in.file != "" {
		where += " of " + v.in.file
	}
	return where
}

func (v configValue) wrong(want string) error {
	got := strconv.Quote(document.CutText(v.node.Value, 60))
	switch v.node.Kind {
	case yaml.MappingNode:
		got = "a mapping"
	case yaml.SequenceNode:
		got = "a list"
	case yaml.AliasNode:
		got = "an alias"
	default:
		if v.node.Tag != "!!str" {
			got = v.node.Value
		}
	}
	return v.in.wrong(v.where(), want, got)
}

func (v configValue) is(tag string) bool { return v.node.Kind == yaml.ScalarNode && v.node.Tag == tag }
func (v configValue) null() bool         { return v.is("!!null") }

func (v configValue) integer(least int) (n int, err error) {
	if !v.is("!!int") || v.node.Decode(&n) != nil || n < least || n > math.MaxInt32 {
		return 0, v.wrong(fmt.Sprintf("an integer of %d to %d", least, math.MaxInt32))
	}
	return n, nil
}

func (v configValue) unsigned() (n uint64, err error) {
	if !v.is("!!int") || v.node.Decode(&n) != nil {
		return 0, v.wrong("an integer of at least 0")
	}
	return n, nil
}

// interval reads a number of steps. 0 and null mean never. A negative number means the same as its
// absolute value, as in torch, which only tests divisibility.
func (v configValue) interval() (int, error) {
	if v.null() {
		return SnapshotNever, nil
	}
	var n int
	if !v.is("!!int") || v.node.Decode(&n) != nil || n < -math.MaxInt32 || n > math.MaxInt32 {
		return 0, v.wrong("an integer, or null")
	}
	if n == 0 {
		return SnapshotNever, nil
	}
	return max(n, -n), nil
}

func (v configValue) boolean() (b bool, err error) {
	if !v.is("!!bool") || v.node.Decode(&b) != nil {
		return false, v.wrong("true or false")
	}
	return b, nil
}

func (v configValue) text() (s string, err error) {
	if !v.is("!!str") {
		return "", v.wrong("text")
	}
	return v.node.Value, nil
}

// oneOf checks a text option that has no effect.
func (v configValue) oneOf(texts ...string) error {
	text, err := v.text()
	if err == nil && !slices.Contains(texts, text) {
		return v.wrong(fmt.Sprintf("one of %q", texts))
	}
	return err
}

func (v configValue) seconds() (time.Duration, error) {
	var s float64
	if !v.is("!!int") && !v.is("!!float") || v.node.Decode(&s) != nil || !(s >= 0) ||
		s > float64(math.MaxInt64/int64(time.Second)) {
		return 0, v.wrong("a number of seconds of at least 0")
	}
	return time.Duration(s * float64(time.Second)), nil
}
