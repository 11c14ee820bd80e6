package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Programs of dynamic mode go on from what was written as they went on without a stop, and a
// difference is told.
func TestDynamicRoundTrip(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	if err := writeDynamic(ctx, root, 3, 6); err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(root, "*", "truth.json"))
	if err != nil || len(cases) != 6 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		err := within(filepath.Dir(c), func() error {
			text, err := os.ReadFile("truth.json")
			if err != nil {
				return err
			}
			var truth dynamicTruth
			if err := json.Unmarshal(text, &truth); err != nil {
				return err
			}
			if err := truth.goOn(ctx); err != nil {
				return err
			}
			truth.Stream[len(truth.Stream)-1].Number++
			if err := truth.goOn(ctx); err == nil || !strings.Contains(err.Error(), "going on, batch") {
				t.Errorf("a changed number: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}
