package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// none is loader.NoBatching and loader.SnapshotNever.
const none = -1

// field returns a field of a *loader.Options, of which the types of samples and batches are not
// known here.
func field[T any](o any, name string) *T {
	return reflect.ValueOf(o).Elem().FieldByName(name).Addr().Interface().(*T)
}

// SetOption assigns the value to the option of that name; o is a *loader.Options.
func (v Value) SetOption(o any, name string) (err error) {
	switch name {
	case "batch_size":
		*field[int](o, "BatchSize") = none
		if !v.Null() {
			*field[int](o, "BatchSize"), err = v.Integer(1)
		}
	case "shuffle":
		if !v.Null() {
			*field[bool](o, "Shuffle"), err = v.boolean()
		}
	case "num_workers":
		*field[int](o, "Workers"), err = v.Integer(0)
	case "prefetch_factor":
		if !v.Null() {
			*field[int](o, "Prefetch"), err = v.Integer(1)
		}
	case "persistent_workers":
		*field[bool](o, "Persistent"), err = v.boolean()
	case "drop_last":
		var drop bool
		drop, err = v.boolean()
		*field[order.Tail](o, "Tail") = order.DropLast(drop)
	case "timeout":
		*field[time.Duration](o, "Timeout"), err = v.seconds()
	case "pin_memory":
		*field[bool](o, "Pinned"), err = v.boolean()
	case "pin_memory_device":
		err = v.oneOf("", "cpu")
	case "multiprocessing_context":
		if !v.Null() {
			err = v.oneOf("fork", "spawn", "forkserver")
		}
	case "snapshot_every_n_steps":
		*field[int](o, "SnapshotEvery"), err = v.interval()
	case "in_order":
		var in bool
		in, err = v.boolean()
		*field[bool](o, "OutOfOrder") = !in
	case "dataset", "sampler", "batch_sampler", "collate_fn", "worker_init_fn", "generator":
		return v.Wrong("no " + name + ", which is code and given in Options")
	default:
		return v.setOwn(o, name)
	}
	return err
}

// setOwn does the same as SetOption for options that torch does not have.
func (v Value) setOwn(o any, name string) (err error) {
	switch name {
	case "name":
		*field[string](o, "Name"), err = v.Text()
	case "seed":
		*field[uint64](o, "Seed"), err = v.unsigned()
	case "global_batch":
		*field[int](o, "GlobalBatch"), err = v.Integer(1)
	case "rank":
		*field[int](o, "Rank"), err = v.Integer(0)
	case "world":
		*field[int](o, "World"), err = v.Integer(1)
	case "streams":
		*field[int](o, "Streams"), err = v.Integer(1)
	case "uneven":
		var text string
		if text, err = v.Text(); err != nil {
			return err
		}
		if *field[order.Uneven](o, "Uneven"), err = order.ParseUneven(text); err != nil {
			return v.Wrong(`"repeat sample" or "end early"`)
		}
	case "settle_every_n_steps":
		*field[int](o, "SettleEvery"), err = v.Integer(0)
	case "on_error":
		err = v.Each(func(name string, v Value) error { return setPolicy(field[faults.Policy](o, "OnError"), name, v) })
	default:
		return v.Unknown(name, OptionNames)
	}
	return err
}

// OptionNames are the option names that a configuration may have.
var OptionNames = []string{"batch_size", "shuffle", "num_workers", "prefetch_factor", "persistent_workers", "drop_last",
	"timeout", "pin_memory",
	"pin_memory_device", "multiprocessing_context", "snapshot_every_n_steps", "in_order", "seed", "name", "global_batch",
	"rank", "world", "streams", "uneven", "settle_every_n_steps", "on_error"}

func setPolicy(p *faults.Policy, name string, v Value) (err error) {
	switch name {
	case "action":
		var text string
		if text, err = v.Text(); err != nil {
			return err
		}
		if p.Action, err = faults.ParseAction(text); err != nil || p.Action > faults.Skip {
			return v.Wrong(`"fail", "pass on" or "skip"`)
		}
	case "retries":
		p.Retries, err = v.Integer(0)
	case "backoff":
		p.Backoff, err = v.seconds()
	default:
		return v.Unknown(name, []string{"action", "retries", "backoff"})
	}
	return err
}

func (v Value) unsigned() (n uint64, err error) {
	if !v.Is("!!int") || v.Node.Decode(&n) != nil {
		return 0, v.Wrong("an integer of at least 0")
	}
	return n, nil
}

// interval reads a number of steps. 0 and null mean never. A negative number means the same as its
// absolute value, as in torch, which only tests divisibility.
func (v Value) interval() (int, error) {
	if v.Null() {
		return none, nil
	}
	var n int
	if !v.Is("!!int") || v.Node.Decode(&n) != nil || n < -math.MaxInt32 || n > math.MaxInt32 {
		return 0, v.Wrong("an integer, or null")
	}
	if n == 0 {
		return none, nil
	}
	return max(n, -n), nil
}

func (v Value) boolean() (b bool, err error) {
	if !v.Is("!!bool") || v.Node.Decode(&b) != nil {
		return false, v.Wrong("true or false")
	}
	return b, nil
}

// oneOf checks a text option that has no effect.
func (v Value) oneOf(texts ...string) error {
	text, err := v.Text()
	if err == nil && !slices.Contains(texts, text) {
		return v.Wrong(fmt.Sprintf("one of %q", texts))
	}
	return err
}

func (v Value) seconds() (time.Duration, error) {
	var s float64
	if !v.Is("!!int") && !v.Is("!!float") || v.Node.Decode(&s) != nil || !(s >= 0) ||
		s > float64(math.MaxInt64/int64(time.Second)) {
		return 0, v.Wrong("a number of seconds of at least 0")
	}
	return time.Duration(s * float64(time.Second)), nil
}
