package torchdata_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
)

// loaderNames are the arguments and methods of torch's DataLoader and of torchdata's
// StatefulDataLoader.
var loaderNames = []string{
	"dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn",
	"multiprocessing_context", "generator", "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order", "snapshot_every_n_steps",
	"iter(loader)", "len(loader)", "state_dict()", "load_state_dict()", "check_worker_number_rationality()",
}

// Every name of torch's loaders has a row in the document, and the Go names in the rows are
// fields of Options, methods of Loader or functions of this package.
func TestNamesAreComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/compat/torchdata.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Loaders")
	table, _, _ = strings.Cut(table, "\n| sampler |")
	code := regexp.MustCompile("`([^`]*)`")
	o, l := reflect.TypeFor[options](), reflect.TypeFor[*torchdata.Loader[int64, []int64]]()
	functions := []string{"New", "NewIterable", "FromConfig"}
	var told []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			told = append(told, m[1])
		}
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			_, field := o.FieldByName(m[1])
			_, method := l.MethodByName(m[1])
			if !field && !method && !slices.Contains(functions, m[1]) && m[1] != "torchdata" {
				t.Errorf("the row of %s names %s, which does not exist", strings.TrimSpace(cells[1]), m[1])
			}
		}
	}
	for _, name := range loaderNames {
		if !slices.Contains(told, name) {
			t.Errorf("no row for %s", name)
		}
	}
	for i := range o.NumField() {
		if name := o.Field(i).Name; !strings.Contains(table, "`"+name+"`") {
			t.Errorf("no row for Options.%s", name)
		}
	}
}
