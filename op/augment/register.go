package augment

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Func is an augmentation of a program: it writes to out what in becomes at a magnitude, which is 0
// without a range. Both are images of one frame, uint8 of layout HWC, of the same shape. in must
// not change. A function depends on its arguments alone, or a run cannot be repeated. Several
// goroutines call it at the same time.
type Func func(out, in tensor.Tensor, magnitude float64) error

// function is a registered Func.
type function struct {
	name   string
	ranged bool
	apply  Func
}

var registered struct {
	sync.RWMutex
	list []*function
}

// Register makes an augmentation known by its name, for suites and policies: "warm 0 0.5 signed" if
// it has a magnitude, otherwise "warm". It panics if the name has other characters than a to z, 0
// to 9 and _, or is taken. Call it from an init function: a pipeline that names the augmentation is
// defined after it.
func Register(name string, ranged bool, apply Func) {
	registered.Lock()
	defer registered.Unlock()
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
	switch {
	case name == "" || strings.Trim(name, letters) != "" || strings.HasSuffix(name, "_pixels"):
		panic(fmt.Sprintf("augment.Register: %q: want a name of a to z, 0 to 9 and _ that does not end with _pixels", name))
	case apply == nil:
		panic(fmt.Sprintf("augment.Register: %s: want a function, got nil", name))
	case slices.Contains(names(), name),
		slices.ContainsFunc(registered.list, func(f *function) bool { return f.name == name }):
		panic(fmt.Sprintf("augment.Register: %s: want a new name, got one that is taken", name))
	}
	registered.list = append(registered.list, &function{name, ranged, apply})
}

// lookup returns the augmentation of a name without its range.
func lookup(name string) (augmentation, error) {
	for i := range kinds {
		if kinds[i].name == name {
			return augmentation{kind: kind(i)}, nil
		}
	}
	registered.RLock()
	defer registered.RUnlock()
	known := names()
	for _, f := range registered.list {
		if f.name == name {
			return augmentation{kind: own, function: f}, nil
		}
		known = append(known, f.name)
	}
	return augmentation{}, &errs.Error{Kind: errs.Invalid, Remedy: errs.DidYouMean(name, known)}
}
