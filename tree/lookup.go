package tree

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// fewKeys is the number of keys up to which a linear search is as quick as an index.
const fewKeys = 32

// fewSearches is the number of linear searches among many keys before an index is made, because
// making the index costs as much as a few searches.
const fewSearches = 8

// keyIndex maps the keys of one node to their positions. Copies of the node make an index of their
// own.
type keyIndex struct {
	of    *Node
	first *string // the address of the first key, which identifies the slice of keys
	at    map[string]int
}

func newKeyIndex(n *Node) *keyIndex {
	x := &keyIndex{of: n, first: unsafe.SliceData(n.Keys), at: make(map[string]int, len(n.Keys))}
	for i, k := range n.Keys {
		if _, twice := x.at[k]; !twice {
			x.at[k] = i
		}
	}
	return x
}

// find returns the position of a key, or -1. Several goroutines may call it.
func (n *Node) find(key string) int {
	if len(n.Keys) <= fewKeys {
		return slices.Index(n.Keys, key)
	}
	x := (*keyIndex)(atomic.LoadPointer(&n.index))
	if x == nil && atomic.AddUint32(&n.searched, 1) <= fewSearches {
		return slices.Index(n.Keys, key)
	}
	if i, known := x.find(n, key); known {
		return i
	}
	x = newKeyIndex(n)
	atomic.StorePointer(&n.index, unsafe.Pointer(x))
	i, _ := x.find(n, key)
	return i
}

// find returns the position of a key of n, or -1. known is false if the index was made for other
// keys.
func (x *keyIndex) find(n *Node, key string) (i int, known bool) {
	if x == nil || x.of != n || x.first != unsafe.SliceData(n.Keys) {
		return -1, false
	}
	if i, ok := x.at[key]; ok {
		return i, i < len(n.Keys) && n.Keys[i] == key
	}
	// If a caller removed one key and appended another, the number of keys is the same.
	last := len(n.Keys) - 1
	at, ok := x.at[n.Keys[last]]
	return -1, len(x.at) == len(n.Keys) && ok && at == last
}

// add appends a key that n does not have.
func (n *Node) add(key string, child *Node) {
	n.Keys = append(n.Keys, key)
	n.Items = append(n.Items, child)
	if x := (*keyIndex)(n.index); x != nil && x.of == n {
		x.first, x.at[key] = unsafe.SliceData(n.Keys), len(n.Keys)-1
	} else if len(n.Keys) > fewKeys {
		n.index = unsafe.Pointer(newKeyIndex(n))
	}
}
