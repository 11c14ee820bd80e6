package main

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	if testing.Short() {
		t.Skip("it draws many permutations")
	}
	var out, errors strings.Builder
	if code := run([]string{"-quick"}, &out, &errors); code != 0 {
		t.Fatalf("exit %d: %s", code, &errors)
	}
	for _, want := range []string{"| 65537 | 0 | 0 | **1** | 0 |", "| Grain: the same | **1000** |", "### Differences of neighbours"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestBetween(t *testing.T) {
	got, err := between("a\n"+begin+"old\n"+end+"b\n", "new\n")
	if want := "a\n" + begin + "new\n" + end + "b\n"; got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := between("a\n", ""); err == nil {
		t.Error("no error without marks")
	}
}
