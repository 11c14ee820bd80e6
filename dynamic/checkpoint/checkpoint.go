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

// Object has a state that a checkpoint captures. The state may be any value, as in DALI; Of adapts
// a state.Stateful. An Object must be comparable, like a pointer, because Register recognises it by
// its identity.
type Object interface {
	// GetState returns the state: a value that prints as the text of the state.
	GetState() (any, error)
	// SetState restores a state. state is a value that GetState returned, or its text as a string.
	SetState(state any) error
}

// Enabler is implemented by objects, such as readers, that have a state only if it is enabled early
// enough. Register enables it.
type Enabler interface {
	EnableCheckpointing() error
}

// Typed is implemented by objects that choose the name of their type in checkpoints. The default
// name is the name of the Go type, without package and pointer.
type Typed interface {
	CheckpointType() string
}

// prefix begins the keys that RegisterAnonymous makes.
const prefix = "__op_"

// Checkpoint holds objects by their keys, and the states of objects. Use New; the zero Checkpoint
// is not ready. Several goroutines may call its methods, but only one at a time. A call during
// another call fails with errs.Busy, because the captured states would not belong to one moment.
type Checkpoint struct {
	mu      sync.Mutex
	options Options
	open    func(dir string) (store.Store, error)

	names    []string // of the objects, in the order of their registration
	objects  map[string]Object
	keys     map[Object]string
	order    []string // of the states
	states   map[string]entry
	dirty    map[string]bool
	complete bool
	loaded   bool
	sequence int // number of the next file; -1: not known
}

// entry is a state with the name of its object's type.
type entry struct {
	state    any
	typeName string
	typed    bool
}

func (c *Checkpoint) reset() {
	c.names, c.order = nil, nil
	c.objects, c.keys = map[string]Object{}, map[Object]string{}
	c.states, c.dirty = map[string]entry{}, map[string]bool{}
	c.complete, c.loaded, c.sequence = false, false, -1
}

// lock locks the checkpoint for one call.
func (c *Checkpoint) lock(op string) error {
	if !c.mu.TryLock() {
		return &errs.Error{Kind: errs.Busy, Op: "checkpoint." + op, Got: "another call at the same time"}
	}
	return nil
}

func fail(kind errs.Kind, op, subject, want, got string) error {
	return &errs.Error{Kind: kind, Op: "checkpoint." + op, Subject: subject, Want: want, Got: got}
}

// Register adds an object to the checkpoint under a name and returns its key, the name. If a state
// was loaded or set under this key, it is applied to the object at once. An object that is already
// registered keeps its key. Another object of the same type replaces the object that had the name
// before.
//
// Register fails with errs.Invalid for a name that begins with "__op_", with errs.Mismatch if the
// object or the state has another type, with errs.Sequence for a new name in a complete checkpoint
// or for a second name of the same object, and with errs.NotFound if the loaded checkpoint has no
// state for the object.
func (c *Checkpoint) Register(object Object, name string) (key string, err error) {
	if err := c.lock("Register"); err != nil {
		return "", err
	}
	defer c.mu.Unlock()
	if err := enable(object); err != nil {
		return "", err
	}
	if name == "" {
		return "", fail(errs.Invalid, "Register", "name", "a name, or a call of RegisterAnonymous", "no name")
	}
	if strings.HasPrefix(name, prefix) {
		return "", fail(errs.Invalid, "Register", "name "+name, "a name that does not begin with "+prefix,
			"a name that the checkpoint makes")
	}
	if old, ok := c.keys[object]; ok && old != name {
		return "", fail(errs.Sequence, "Register", "name "+name, "the key that the object has, "+old, "another key")
	}
	if other, ok := c.objects[name]; ok {
		if a, b := typeName(other), typeName(object); a != b {
			return "", fail(errs.Mismatch, "Register", "object "+name, "an object of type "+a, "an object of type "+b)
		}
		delete(c.keys, other)
		c.objects[name], c.keys[object] = object, name
		return name, c.apply("Register", name)
	}
	return name, c.add(object, name)
}

// RegisterAnonymous registers an object under a key that is made from the number of earlier
// objects. A program that registers the same objects in the same order finds their states again.
func (c *Checkpoint) RegisterAnonymous(object Object) (key string, err error) {
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

func enable(object Object) error {
	if e, ok := object.(Enabler); ok {
		return e.EnableCheckpointing()
	}
	return nil
}

// add adds an object under a new key.
func (c *Checkpoint) add(object Object, key string) error {
	if c.complete {
		return fail(errs.Sequence, "Register", "object "+key, "a checkpoint that accepts new objects",
			"a complete checkpoint; call Clear to begin again")
	}
	if _, ok := c.states[key]; c.loaded && !ok {
		return fail(errs.NotFound, "Register", "object "+key, "a state in the loaded checkpoint", "no state")
	}
	c.names = append(c.names, key)
	c.objects[key], c.keys[object] = object, key
	return c.apply("Register", key)
}

// apply sets the state of the object under key, if the state is dirty.
func (c *Checkpoint) apply(op, key string) error {
	if !c.dirty[key] {
		return nil
	}
	e, object := c.states[key], c.objects[key]
	if t := typeName(object); e.typed && e.typeName != t {
		return fail(errs.Mismatch, op, "object "+key, "the type of the state, "+e.typeName, "an object of type "+t)
	}
	if err := object.SetState(e.state); err != nil {
		return errs.Wrap("checkpoint."+op, "object "+key, err)
	}
	delete(c.dirty, key)
	return nil
}

// typeName returns the name of an object's type.
func typeName(object Object) string {
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

// GetState returns the state under a key, or nil if the key has no state yet. It fails with
// errs.NotFound if no object is registered under the key.
func (c *Checkpoint) GetState(key string) (any, error) {
	if err := c.lock("GetState"); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	if _, ok := c.objects[key]; !ok {
		return nil, fail(errs.NotFound, "GetState", "object "+key, "a registered object", "no object")
	}
	return c.states[key].state, nil
}

// SetState stores a state, or its text, under a key. The state is applied when an object is
// registered under the key, or by Restore. typeOf says for which type of object the state is: it is
// the name of the type, an object of the type, or nil for any type. SetState fails with
// errs.NotFound if the checkpoint is complete and has no such object.
func (c *Checkpoint) SetState(key string, state, typeOf any) error {
	if err := c.lock("SetState"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if _, ok := c.objects[key]; c.complete && !ok {
		return fail(errs.NotFound, "SetState", "object "+key, "a registered object, because the checkpoint is complete",
			"no object")
	}
	e := entry{state: state}
	switch t := typeOf.(type) {
	case nil:
	case string:
		e.typeName, e.typed = t, true
	case Object:
		e.typeName, e.typed = typeName(t), true
	default:
		return fail(errs.Mismatch, "SetState", "type of "+key, "the name of the type, or an object of the type",
			fmt.Sprintf("%T", typeOf))
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

// Collect gets the states of all objects. Then the checkpoint is complete. Collect fails with
// errs.Sequence if there are states without an object.
func (c *Checkpoint) Collect() error {
	if err := c.lock("Collect"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if extra := c.without(); len(extra) > 0 {
		return fail(errs.Sequence, "Collect", "states", "one object per state", "no object for "+strings.Join(extra, ", "))
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

// without returns the keys of the states without an object.
func (c *Checkpoint) without() []string {
	return slices.DeleteFunc(slices.Clone(c.order), func(key string) bool { return c.objects[key] != nil })
}

// Restore applies all states that were set or loaded and are not yet applied, in their order. It
// fails with errs.Sequence if states and objects do not have the same keys.
func (c *Checkpoint) Restore() error {
	if err := c.lock("Restore"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if len(c.states) == 0 {
		return nil
	}
	if extra := c.without(); len(extra) > 0 {
		return fail(errs.Sequence, "Restore", "states", "one object per state", "no object for "+strings.Join(extra, ", "))
	}
	for _, key := range c.names {
		if _, ok := c.states[key]; !ok {
			return fail(errs.Sequence, "Restore", "object "+key, "a state", "no state: the checkpoint is incomplete")
		}
	}
	for _, key := range c.order {
		if err := c.apply("Restore", key); err != nil {
			return err
		}
	}
	return nil
}

// Clear removes all objects and states.
func (c *Checkpoint) Clear() error {
	if err := c.lock("Clear"); err != nil {
		return err
	}
	defer c.mu.Unlock()
	c.reset()
	return nil
}

// Names returns the keys of the objects, in the order of their registration.
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

// Options are the options of a checkpoint that DALI does not have. With the zero Options, text and
// files equal DALI's, byte for byte.
type Options struct {
	// Extend adds a member "bivouac" with a checksum of the states to the text. DALI ignores this
	// member. Deserialize and Load compare the states with the checksum.
	Extend bool
	// Keep is the number of newest files of a pattern that Save keeps; it removes older files. 0 means
	// that it keeps all files.
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

// currentKey is the key of an EvalContext's checkpoint.
type currentKey struct{}

// Current returns the checkpoint of the EvalContext of ctx. Each EvalContext has one checkpoint;
// a ctx without an EvalContext has the checkpoint of the process. The first call makes the
// checkpoint, which keeps its contents until Clear.
func Current(ctx context.Context) *Checkpoint {
	return dynamic.Current(ctx).Attach(currentKey{}, func() any { return New() }).(*Checkpoint)
}
