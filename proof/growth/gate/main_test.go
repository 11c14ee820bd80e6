package main

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/growth"
)

// No public operation allocates more than in proportion to its input.
func TestGrowth(t *testing.T) {
	for _, op := range tables() {
		t.Run(strings.ReplaceAll(op.Name, " ", "_"), func(t *testing.T) { growth.Check(t, op) })
	}
}
