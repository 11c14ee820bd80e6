package loader

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Pinner is implemented by batches that move themselves to pinned memory, for Options.Pinned.
type Pinner interface {
	// Pin returns the batch in memory from alloc, which is aligned to pages. The result must have the
	// type of the batch.
	Pin(alloc func(n int) ([]byte, error)) (any, error)
}

// pinner owns the pinned memory of a loader. It has an arena for each batch that is in flight or
// with the caller.
type pinner struct {
	warn func(string)

	mu     sync.Mutex
	all    []*arena.Arena
	free   []*arena.Arena
	held   *arena.Arena // the arena of the batch that the caller has
	warned bool
}

func newPinner(warn func(string)) *pinner { return &pinner{warn: warn} }

// take returns an empty arena.
func (p *pinner) take() (*arena.Arena, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		a := p.free[n-1]
		p.free = p.free[:n-1]
		return a, nil
	}
	a, err := arena.Open(0, arena.Options{})
	if err == nil {
		p.all = append(p.all, a)
	}
	return a, err
}

// handOut gives the memory of a batch to the caller and takes back the memory of the batch before.
func (p *pinner) handOut(a *arena.Arena) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil {
		p.held.Reset()
		p.free = append(p.free, p.held)
	}
	p.held = a
}

// alloc returns n bytes of locked memory. If they cannot be locked, it warns and returns them
// unlocked.
func (p *pinner) alloc(a *arena.Arena, n int) ([]byte, error) {
	mem, err := a.Alloc(n, arena.MaxAlign)
	if err != nil {
		return nil, err
	}
	if err := arena.Lock(mem); err != nil {
		p.mu.Lock()
		first := !p.warned
		p.warned = true
		p.mu.Unlock()
		if first {
			p.warn(fmt.Sprintf("batches are not locked in memory: %v (raise the limit, ulimit -l, or leave Pinned off)", err))
		}
	}
	return mem, nil
}

// close frees all memory. No batch may be used after it.
func (p *pinner) close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.all {
		err = errors.Join(err, a.Close())
	}
	p.all, p.free, p.held = nil, nil, nil
	return err
}

// pinned returns a batch in pinned memory, and the arena in which it lies.
func pinned[B any](p *pinner, b B) (B, *arena.Arena, error) {
	a, err := p.take()
	if err != nil {
		return b, nil, err
	}
	v, err := p.move(a, reflect.ValueOf(&b).Elem())
	if err != nil {
		return b, a, err
	}
	return v.Interface().(B), a, nil
}

var pinnerType = reflect.TypeFor[Pinner]()

// move returns a value with its tensors moved. A value without tensors is not changed.
func (p *pinner) move(a *arena.Arena, v reflect.Value) (reflect.Value, error) {
	switch {
	case !v.IsValid():
		return v, nil
	case v.Type() == tensorType:
		t := v.Interface().(tensor.Tensor)
		mem, err := p.alloc(a, len(t.Data))
		if err != nil {
			return v, err
		}
		copy(mem, t.Data)
		t.Data = mem
		return reflect.ValueOf(t), nil
	case v.Type().Implements(pinnerType) && v.Kind() != reflect.Interface:
		moved, err := v.Interface().(Pinner).Pin(func(n int) ([]byte, error) { return p.alloc(a, n) })
		if err == nil && reflect.TypeOf(moved) != v.Type() {
			err = &errs.Error{Kind: errs.Mismatch, Subject: "Pin", Want: v.Type().String(), Got: fmt.Sprintf("%T", moved)}
		}
		if err != nil {
			return v, err
		}
		return reflect.ValueOf(moved), nil
	}
	return p.moveParts(a, v)
}

// moveParts does the same as move for values that contain other values.
func (p *pinner) moveParts(a *arena.Arena, v reflect.Value) (reflect.Value, error) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return v, nil
		}
		moved, err := p.move(a, v.Elem())
		if err != nil {
			return v, err
		}
		box := reflect.New(v.Type()).Elem()
		box.Set(moved)
		return box, nil
	case reflect.Slice:
		if !mayHoldTensors(v.Type().Elem()) {
			return v, nil
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			moved, err := p.move(a, v.Index(i))
			if err != nil {
				return v, err
			}
			list.Index(i).Set(moved)
		}
		return list, nil
	case reflect.Map:
		m := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			moved, err := p.move(a, value)
			if err != nil {
				return v, err
			}
			m.SetMapIndex(key, moved)
		}
		return m, nil
	case reflect.Struct:
		s := reflect.New(v.Type()).Elem()
		s.Set(v)
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			moved, err := p.move(a, v.Field(i))
			if err != nil {
				return v, err
			}
			s.Field(i).Set(moved)
		}
		return s, nil
	}
	return v, nil
}

// mayHoldTensors reports whether values of a type may contain tensors.
func mayHoldTensors(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer:
		return true
	}
	return t.Implements(pinnerType)
}
