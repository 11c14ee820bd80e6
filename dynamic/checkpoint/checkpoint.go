package checkpoint

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// Stateful is what a checkpoint captures. It must be comparable, as pointers are: it
// is recognised again by its identity.
type Stateful interface {
	// GetState returns the state: something that prints as its text.
	GetState() (any, error)
	// SetState goes to a state: what GetState returned, or its text as a string.
	SetState(state any) error
}

// Enabler is implemented by objects, such as readers, that have a state only when they
// are asked for one in time. Register asks.
type Enabler interface {
	EnableCheckpointing() error
}

// Typed is implemented by objects whose type has a name of its own in checkpoints. Any other
// object has the name of its Go type, without package and pointer.
type Typed interface {
	CheckpointType() string
}

// prefix begins the keys that Register makes up.
const prefix = "__op_"

// Checkpoint holds objects by their keys, and states of them. The zero Checkpoint is
// not ready; New makes one. Its methods may be called by several goroutines, one
// after the other: calls at the same time are an error of kind errs.Busy, for what
// they would capture would be of no one moment.
type Checkpoint struct {
	mu      sync.Mutex
	options Options
	open    func(dir string) (store.Store, error)

	names    []string // of the objects, in the order in which they came
	objects  map[string]Stateful
	keys     map[Stateful]string
	order    []string // of the states
	states   map[string]entry
	dirty    map[string]bool
	complete bool
	loaded   bool
	sequence int // of the next file; -1: not known
}

// entry is a state with the name of the type that it belongs to.
type entry struct {
	state    any
	typeName string
	typed    bool
}

func (c *Checkpoint) reset() {
	c.names, c.order = nil, nil
	c.objects, c.keys = map[string]Stateful{}, map[Stateful]string{}
	c.states, c.dirty = map[string]entry{}, map[string]bool{}
	c.complete, c.loaded, c.sequence = false, false, -1
}

// lock takes the checkpoint for one call.
func (c *Checkpoint) lock(op string) error {
	if !c.mu.TryLock() {
		return &errs.Error{Kind: errs.Busy, Op: "checkpoint." + op, Got: "another call at the same time"}
	}
	return nil
}

func fail(kind errs.Kind, op, subject, want, got string) error {
	return &errs.Error{Kind: kind, Op: "checkpoint." + op, Subject: subject, Want: want, Got: got}
}

// Register makes an object part of the checkpoint and returns its key: the name, or one
// that is made up where it is empty and anonymous. What a loaded or set state says is
// applied to the object at once. An object that is there already keeps its key;
// another object of the same type takes the place of the one before under its name.
//
// Errors: errs.Invalid for names that begin with "__op_"; errs.Mismatch where object
// or state are of another type; errs.Sequence for a new name in a complete
// checkpoint, or a second name; errs.NotFound where the loaded checkpoint has no state for it.
func (c *Checkpoint) Register(object Stateful, name string) (key string, err error) {
	if err := c.lock("Register"); err != nil {
		return "", err
	}
	defer c.mu.Unlock()
	if err := enable(object); err != nil {
		return "", err
	}
	if name == "" {
		return "", fail(errs.Invalid, "Register", "name", "some text, or RegisterAnonymous", "none")
	}
	if strings.HasPrefix(name, prefix) {
		return "", fail(errs.Invalid, "Register", "name "+name, "one that does not begin with "+prefix,
			"a name as the checkpoint makes up")
	}
	if old, ok := c.keys[object]; ok && old != name {
		return "", fail(errs.Sequence, "Register", "name "+name, "the key that the object has, "+old, "another one")
	}
	if other, ok := c.objects[name]; ok {
		if a, b := typeName(other), typeName(object); a != b {
			return "", fail(errs.Mismatch, "Register", "object "+name, "one of type "+a, "one of type "+b)
		}
		delete(c.keys, other)
		c.objects[name], c.keys[object] = object, name
		return name, c.apply("Register", name)
	}
	return name, c.add(object, name)
}

// RegisterAnonymous registers an object under a key that is made up from the number of
// objects before it: programs that register the same objects in the same order find
// their states again.
func (c *Checkpoint) RegisterAnonymous(object Stateful) (key string, err error) {
	if err := c.lock("RegisterAnonymous"); err != nil {
		return "", err
	}
	defer c.mu.Unlock()
	if err := enable(object); err != nil {
		return "", err
	}
	if old, ok := c.keys[object]; ok {
		return old, c.apply("RegisterAnonymous", old)
	}
	key = fmt.Sprintf("%s%d", prefix, len(c.names))
	return key, c.add(object, key)
}

func enable(object Stateful) error {
	if e, ok := object.(Enabler); ok {
		return e.EnableCheckpointing()
	}
	return nil
}

// add takes in an object under a new key.
func (c *Checkpoint) add(object Stateful, key string) error {
	if c.complete {
		return fail(errs.Sequence, "Register", "object "+key, "a checkpoint that takes objects",
			"one that is complete; Clear begins anew")
	}
	if _, ok := c.states[key]; c.loaded && !ok {
		return fail(errs.NotFound, "Register", "object "+key, "a state in the loaded checkpoint", "none")
	}
	c.names = append(c.names, key)
	c.objects[key], c.keys[object] = object, key
	return c.apply("Register", key)
}

// apply gives the object its state, if that is dirty.
func (c *Checkpoint) apply(op, key string) error {
	if !c.dirty[key] {
		return nil
	}
	e, object := c.states[key], c.objects[key]
	if t := typeName(object); e.typed && e.typeName != t {
		return fail(errs.Mismatch, op, "object "+key, "one of type "+e.typeName+", as the state is of", "one of type "+t)
	}
	if err := object.SetState(e.state); err != nil {
		return errs.Wrap("checkpoint."+op, "object "+key, err)
	}
	delete(c.dirty, key)
	return nil
}

// typeName is the name of an object's type.
func typeName(object Stateful) string {
	if t, ok := object.(Typed); ok {
		return t.CheckpointType()
	}
	return typeNameOf(reflect.TypeOf(object))
}

func typeNameOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(t.Name(), "[") // without the parameters of a generic type
	return name
}

// GetState returns the state under a key, or nil if the key has no state yet. The error is of kind
// errs.NotFound if no object is registered under the key.
func (c *Checkpoint) GetState(key string) (any, error) {
	if err := c.lock("GetState"); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	if _, ok := c.objects[key]; !ok {
		return nil, fail(errs.NotFound, "GetState", "object "+key, "a registered object", "none")
	}
	return c.states[key].state, nil
}

// SetState puts a state, an object's or its text, under a key. It is applied when the
// object is registered, or by Restore. typeOf names the type that it is for: a
// string, or an object of that type; nil: any. The error is of kind errs.NotFound where the
// checkpoint is complete and has no such object.
func (c *Checkpoint) SetState(key string, state, typeOf any) error {
	if err := c.lock("SetState"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if _, ok := c.objects[key]; c.complete && !ok {
		return fail(errs.NotFound, "SetState", "object "+key, "a registered object, as the checkpoint is complete", "none")
	}
	e := entry{state: state}
	switch t := typeOf.(type) {
	case nil:
	case string:
		e.typeName, e.typed = t, true
	case Stateful:
		e.typeName, e.typed = typeName(t), true
	default:
		return fail(errs.Mismatch, "SetState", "type of "+key, "its name, or an object of it", fmt.Sprintf("%T", typeOf))
	}
	c.put(key, e)
	c.dirty[key] = true
	return nil
}

func (c *Checkpoint) put(key string, e entry) {
	if _, ok := c.states[key]; !ok {
		c.order = append(c.order, key)
	}
	c.states[key] = e
}

// Collect asks all objects for their states; then the checkpoint is complete. The
// error is of kind errs.Sequence where there are states without an object.
func (c *Checkpoint) Collect() error {
	if err := c.lock("Collect"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if extra := c.without(); len(extra) > 0 {
		return fail(errs.Sequence, "Collect", "states", "an object for each", "none for "+strings.Join(extra, ", "))
	}
	taken := make([]any, len(c.names))
	for i, key := range c.names {
		var err error
		if taken[i], err = c.objects[key].GetState(); err != nil {
			return errs.Wrap("checkpoint.Collect", "object "+key, err)
		}
	}
	c.order, c.states = nil, map[string]entry{} // in the order of the objects
	for i, key := range c.names {
		c.put(key, entry{state: taken[i], typeName: typeName(c.objects[key]), typed: true})
	}
	clear(c.dirty)
	c.complete, c.loaded = true, false
	return nil
}

// without returns the keys of states that have no object.
func (c *Checkpoint) without() []string {
	return slices.DeleteFunc(slices.Clone(c.order), func(key string) bool { return c.objects[key] != nil })
}

// Restore applies all states that were set or loaded and not applied yet, in their order. The error
// is of kind errs.Sequence where states and objects are not the same keys.
func (c *Checkpoint) Restore() error {
	if err := c.lock("Restore"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if len(c.states) == 0 {
		return nil
	}
	if extra := c.without(); len(extra) > 0 {
		return fail(errs.Sequence, "Restore", "states", "an object for each", "none for "+strings.Join(extra, ", "))
	}
	for _, key := range c.names {
		if _, ok := c.states[key]; !ok {
			return fail(errs.Sequence, "Restore", "object "+key, "a state", "none: the checkpoint is incomplete")
		}
	}
	for _, key := range c.order {
		if err := c.apply("Restore", key); err != nil {
			return err
		}
	}
	return nil
}

// Clear forgets everything.
func (c *Checkpoint) Clear() error {
	if err := c.lock("Clear"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	c.reset()
	return nil
}

// Names returns the keys of the objects, in the order in which they came.
func (c *Checkpoint) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

// Len returns the number of objects.
func (c *Checkpoint) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.names)
}

// Contains reports whether an object is registered under a key.
func (c *Checkpoint) Contains(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[key] != nil
}

// IsComplete reports whether Collect has captured all objects.
func (c *Checkpoint) IsComplete() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.complete
}

// IsLoaded reports whether the states come from Deserialize or Load.
func (c *Checkpoint) IsLoaded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded
}

// Options say what a checkpoint does beyond DALI's. With the zero Options its text and
// its files are DALI's, byte for byte.
type Options struct {
	// Extend adds a member "bivouac" to the text, which DALI passes over: a checksum of the states,
	// which Deserialize and Load then hold the states against.
	Extend bool
	// Keep is how many of the newest files of a pattern Save leaves; it removes the others. 0: all.
	Keep int
}

// New returns an empty checkpoint with the zero Options.
func New() *Checkpoint { return NewWith(Options{}) }

// NewWith returns an empty checkpoint.
func NewWith(o Options) *Checkpoint {
	c := &Checkpoint{options: o, open: openLocal}
	c.reset()
	return c
}

func openLocal(dir string) (store.Store, error) { return local.Open(dir, nil) }

// currentKey is where an EvalContext has its checkpoint.
type currentKey struct{}

// Current returns the checkpoint of the EvalContext of ctx. Each EvalContext has one checkpoint;
// a ctx without an EvalContext has the checkpoint of the process. The first call makes the
// checkpoint, which keeps its contents until Clear.
func Current(ctx context.Context) *Checkpoint {
	return dynamic.Current(ctx).Attach(currentKey{}, func() any { return New() }).(*Checkpoint)
}
