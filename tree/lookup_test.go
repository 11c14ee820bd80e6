package tree

import (
	"strconv"
	"sync"
	"testing"
)

// Get and Set see the present keys even if keys were changed without the index: added by hand,
// taken away, replaced by another slice, or copied with the node.
func TestLookupFollowsKeys(t *testing.T) {
	check := func(n *Node, what string) {
		t.Helper()
		for again := range 3 {
			for i, k := range n.Keys {
				if got := n.Get(k); got != n.Items[i] {
					t.Fatalf("%s, %d: Get(%q) is %v, want %v", what, again, k, got, n.Items[i])
				}
			}
			for _, k := range []string{"", "none", "-1", strconv.Itoa(len(n.Keys) + 1000)} {
				if got := n.Get(k); got != nil {
					t.Fatalf("%s, %d: Get(%q) is %v, want nil", what, again, k, got)
				}
			}
		}
	}
	for _, size := range []int{0, 1, fewKeys - 1, fewKeys, fewKeys + 1, 3 * fewKeys} {
		n := NewDict()
		for i := range size {
			n.Set(strconv.Itoa(i), NewLeaf(i))
		}
		check(n, "set")
		for i := range size {
			n.Set(strconv.Itoa(i), NewLeaf(-i))
		}
		if n.Len() != size {
			t.Fatalf("%d children after keys were set again, want %d", n.Len(), size)
		}
		check(n, "set again")
		c := *n
		n.Set("more", NewLeaf(1))
		c.Set("other", NewLeaf(2))
		check(n, "copied from")
		check(&c, "copy")
		n.Keys, n.Items = append(n.Keys, "by hand"), append(n.Items, NewLeaf(3))
		check(n, "appended by hand")
		n.Keys, n.Items = n.Keys[:n.Len()-1], n.Items[:n.Len()-1]
		check(n, "cut")
		if size > 0 {
			n.Keys, n.Items = append(n.Keys[:0], n.Keys[1:]...), append(n.Items[:0], n.Items[1:]...)
			n.Keys, n.Items = append(n.Keys, "after one was taken away"), append(n.Items, NewLeaf(4))
			check(n, "one for another")
			n.Set("0", NewLeaf(5))
			check(n, "set once more")
		}
		n.Keys = append([]string(nil), n.Keys...)
		was := n.Keys[0]
		n.Keys[0] = "renamed"
		check(n, "another slice")
		if n.Get(was) != nil {
			t.Error("the old name of a renamed key is found")
		}
	}
}

// Several goroutines may search one node.
func TestLookupByMany(t *testing.T) {
	built := NewDict()
	for i := range 1000 {
		built.Set(strconv.Itoa(i), NewLeaf(i))
	}
	for _, n := range []*Node{built, {Kind: Dict, Keys: built.Keys, Items: built.Items}} {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for i := range n.Len() {
					if n.Get(strconv.Itoa(i)) != n.Items[i] {
						t.Errorf("key %d is not found", i)
						return
					}
				}
			})
		}
		all.Wait()
	}
}
