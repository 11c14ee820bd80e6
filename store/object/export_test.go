package object

import (
	"context"
	"strings"
)

// Sources returns the transactions that wrote the objects of a directory, and its own.
func Sources(s *Store, name string) (all []string) {
	ctx := context.Background()
	h, err := s.look(ctx, "test", name)
	if err != nil || !h.dir() {
		return nil
	}
	all = append(all, h.head.At.String())
	t, err := s.loadTree(ctx, "test", h.head.At, h.head.Sum)
	if err != nil {
		return all
	}
	for i := range t.Objects {
		from, _ := s.source(h.head.At, &t.Objects[i])
		all = append(all, from.String())
	}
	return all
}

// Combine is combine.
var Combine = combine

// Process is the identity in documents of a process with a number on this system.
func Process(pid int) string {
	return strings.TrimSpace(string(encode(process{system, pid}, 0)))
}
