package serve

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/checkpoint"
)

// benchBytes is the size of the state: 16 arrays.
const benchBytes = 256 << 20

// BenchmarkLoad compares a load over the socket, until its memory is mapped, with the same load in
// this process and with one copy of the bytes.
func BenchmarkLoad(b *testing.B) {
	c := served(b)
	id, mem := c.arena(benchBytes)
	for i := range mem {
		mem[i] = byte(i >> 10)
	}
	path := filepath.Join(b.TempDir(), "ckpt")
	c.call("save", object{"path": path, "arena": id, "items": object{"state": object{"tree": sixteen()}}})
	b.Run("serve", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			var v struct{ Bytes int64 }
			c.call("load", object{"path": path}).into(b, &v)
			unix.Close(c.fd())
		}
	})
	b.Run("go", func(b *testing.B) {
		b.SetBytes(benchBytes)
		for b.Loop() {
			if _, err := checkpoint.Load(context.Background(), path, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("memcpy", func(b *testing.B) {
		b.SetBytes(benchBytes)
		dst := make([]byte, benchBytes)
		for b.Loop() {
			copy(dst, mem)
		}
	})
}

// sixteen is a tree of 16 arrays that fill an arena of benchBytes.
func sixteen() raw {
	var keys, nodes []string
	for i := range 16 {
		keys = append(keys, fmt.Sprintf(`"w%d"`, i))
		nodes = append(nodes, fmt.Sprintf(`["a","float32",[%d],%d]`, benchBytes/16/4, i*benchBytes/16))
	}
	return rawf(`["d",[%s],[%s]]`, strings.Join(keys, ","), strings.Join(nodes, ","))
}

// BenchmarkSmallCall is a call that does nothing.
func BenchmarkSmallCall(b *testing.B) {
	c := served(b)
	for b.Loop() {
		c.wait(c.start("arena.free", object{"arena": 7}))
	}
}

// BenchmarkManyLeaves loads a tree of 100,000 small arrays.
func BenchmarkManyLeaves(b *testing.B) {
	c := served(b)
	const n = 100_000
	id, _ := c.arena(n * 64)
	var keys, nodes []string
	for i := range n {
		keys = append(keys, fmt.Sprintf(`"w%d"`, i))
		nodes = append(nodes, fmt.Sprintf(`["a","float32",[4],%d]`, i*64))
	}
	path := filepath.Join(b.TempDir(), "ckpt")
	c.call("save", object{"path": path, "arena": id, "items": object{"state": object{
		"tree": rawf(`["d",[%s],[%s]]`, strings.Join(keys, ","), strings.Join(nodes, ","))}}})
	b.Run("serve", func(b *testing.B) {
		for b.Loop() {
			c.call("load", object{"path": path})
			unix.Close(c.fd())
		}
	})
	b.Run("go", func(b *testing.B) {
		for b.Loop() {
			if _, err := checkpoint.Load(context.Background(), path, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
