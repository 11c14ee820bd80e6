package conform

import (
	"encoding/json"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var committedFormats = filepath.Join("..", "..", "testdata", "formats")

func TestCommittedFormats(t *testing.T) {
	code, out := conform("-suite", "formats", committedFormats)
	if code != 0 || !strings.HasSuffix(lastLine(out), " passed, 0 failed, 0 skipped") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// The set beside the checkout, where it is; the families that are there for later
// fail as unknown.
func TestAllFormats(t *testing.T) {
	all := filepath.Join("..", "..", "..", "shared", "vectors", "formats")
	if _, err := os.Stat(all); err != nil {
		t.Skip("the full set of cases is not beside this checkout")
	}
	const families = "safetensors,npy,arrayrecord,columnar,kv,recordio,tar,tfrecord"
	code, out := conform("-suite", "formats", "-only", families, all)
	if want := "266 passed, 0 failed, 0 skipped"; code != 0 || lastLine(out) != want {
		t.Errorf("exit %d, want the last line %q\n%s", code, want, out)
	}
}

// alteredFormat copies a family with one file, whose entry it changes.
func alteredFormat(t *testing.T, file string, change func(e map[string]any)) string {
	t.Helper()
	family, rest, _ := strings.Cut(file, "/")
	b, err := os.ReadFile(filepath.Join(committedFormats, family, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := suite.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	var entry map[string]any
	for _, f := range document["files"].([]any) {
		if e := f.(map[string]any); e["file"] == rest {
			entry = e
		}
	}
	if entry == nil {
		t.Fatalf("no entry for %s", file)
	}
	change(entry)
	document["files"] = []any{entry}
	content, err := os.ReadFile(filepath.Join(committedFormats, family, rest))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, family, rest), content)
	if b, err = json.Marshal(document); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, family, "expect.json"), b)
	return dir
}

func writeFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Each alteration of an expectation must be seen, and no alteration must not.
func TestAlterationsOfFormatsAreSeen(t *testing.T) {
	const (
		mixed    = "safetensors/valid/lib-mixed.safetensors"
		refused  = "safetensors/edge/overlap.safetensors"
		twice    = "safetensors/edge/duplicate-name.safetensors"
		array    = "npy/valid/f4.npy"
		big      = "npy/valid/big-i2.npy"
		fortran  = "npy/valid/fortran.npy"
		archive  = "npy/valid/two.npz"
		text     = "npy/valid/str.npy"
		badMagic = "npy/edge/bad-magic.npy"
		members  = "tar/links.tar"
		samples  = "tar/multi-dot.tar"
		cut      = "tar/edge-truncated-data.tar"
		long     = "tar/gnu-long.tar"
		records  = "arrayrecord/group_size8-zstd3.array_record"
		parquet  = "columnar/parquet-zstd-v1.0-p2.0.parquet"
		arrow    = "columnar/arrow-lz4.arrows"
		cutFile  = "columnar/edge-truncated.parquet"
	)
	none := func(map[string]any) {}
	set := func(key string, v any) func(map[string]any) { return func(e map[string]any) { e[key] = v } }
	first := func(change func(map[string]any)) func(map[string]any) {
		return func(e map[string]any) { change(e["tensors"].([]any)[0].(map[string]any)) }
	}
	opened := func(change func(map[string]any)) func(map[string]any) {
		return func(e map[string]any) { change(e["safe_open"].(map[string]any)) }
	}
	inList := func(key string, change func(map[string]any)) func(map[string]any) {
		return func(e map[string]any) { change(e[key].([]any)[0].(map[string]any)) }
	}
	inArchive := func(change func(map[string]any)) func(map[string]any) {
		return func(e map[string]any) { change(e["arrays"].(map[string]any)["a"].(map[string]any)) }
	}
	zeros := strings.Repeat("0", 64)
	one := []any{json.Number("1")}
	for name, c := range map[string]struct {
		file   string
		change func(e map[string]any)
		want   string // empty: it passes
	}{
		"nothing, safetensors": {mixed, none, ""},
		"nothing, refused":     {refused, none, ""},
		"nothing, duplicate":   {twice, none, ""},
		"nothing, npy":         {array, none, ""},
		"nothing, big-endian":  {big, none, ""},
		"nothing, npz":         {archive, none, ""},
		"nothing, unsupported": {text, none, ""},
		"nothing, bad magic":   {badMagic, none, ""},
		"nothing, tar":         {members, none, ""},
		"nothing, cut tar":     {cut, none, ""},
		"nothing, long names":  {long, none, ""},

		"member":           {members, inList("python_tarfile", set("size", json.Number("7"))), "python_tarfile"},
		"in a member":      {members, inList("python_tarfile", set("surprise", true)), "unknown member"},
		"no member":        {members, set("python_tarfile", []any{}), "python_tarfile"},
		"tar refusal":      {members, set("python_tarfile_error", []any{"ReadError", "x"}), "python_tarfile"},
		"tar acceptance":   {cut, func(e map[string]any) { delete(e, "python_tarfile_error") }, "python_tarfile"},
		"component":        {samples, inList("webdataset", set("jpg", "5")), "webdataset[0]"},
		"no sample":        {samples, set("webdataset", []any{}), "got 1 samples, want 0"},
		"sample refusal":   {samples, set("webdataset_error", []any{"ValueError", "x"}), "webdataset: got"},
		"index":            {samples, set("dali_index", "v1.2 1\njpg 512 1 a.jpg\n"), "index: got"},
		"index refusal":    {samples, set("dali_index_error", "ValueError"), "want it refused"},
		"index of a name":  {long, set("dali_index", "v1.2 1\njpg 1024 1 a.jpg\n"), "index: got"},
		"nothing, records": {records, none, ""},
		"nothing, parquet": {parquet, none, ""},
		"nothing, arrow":   {arrow, none, ""},
		"nothing, cut":     {cutFile, none, ""},

		"file hash":      {mixed, set("sha256", zeros), "sha256"},
		"file size":      {array, set("size", json.Number("7")), "size"},
		"unknown member": {mixed, set("surprise", true), "unknown member surprise"},
		"in a tensor":    {mixed, first(set("surprise", true)), "unknown member tensors[0].surprise"},
		"in safe_open":   {mixed, opened(set("surprise", true)), "unknown member safe_open.surprise"},
		"in an array":    {archive, inArchive(set("surprise", true)), "unknown member arrays.a.surprise"},

		"no verdict":        {mixed, func(e map[string]any) { delete(e, "accepted") }, "no verdict"},
		"refusal":           {mixed, func(e map[string]any) { e["accepted"], e["error"] = false, []any{"E", "x"} }, "want it refused"},
		"acceptance":        {refused, func(e map[string]any) { e["accepted"] = true; delete(e, "error") }, "refused: "},
		"two verdicts":      {mixed, set("error", []any{"E", "x"}), "beside the error"},
		"tensor hash":       {mixed, first(set("sha256", zeros)), "sha256"},
		"tensor hex":        {mixed, first(set("hex", "00")), "hex"},
		"tensor dtype":      {mixed, first(set("dtype", "U8")), "dtype"},
		"tensor shape":      {mixed, first(set("shape", one)), "shape"},
		"tensor name":       {mixed, first(set("name", "other")), "not found"},
		"missing tensor":    {mixed, func(e map[string]any) { e["tensors"] = e["tensors"].([]any)[1:] }, "is not expected"},
		"keys":              {mixed, opened(set("keys", []any{"a"})), "keys"},
		"offset_keys":       {mixed, opened(set("offset_keys", []any{"a", "b", "c", "empty", "z"})), "offset_keys"},
		"metadata":          {mixed, opened(set("metadata", map[string]any{"format": "np", "note": "other"})), "metadata"},
		"no metadata":       {mixed, opened(set("metadata", nil)), "metadata"},
		"npy dtype":         {array, set("dtype", "<f8"), "dtype"},
		"npy byte order":    {big, set("dtype", "<i2"), "dtype"},
		"npy shape":         {array, set("shape", one), "shape"},
		"npy order":         {fortran, set("fortran", false), "fortran"},
		"npy data":          {array, set("c_order_hex", "00"), "c_order_hex"},
		"npy refusal":       {array, set("error", []any{"ValueError", "x"}), "want it refused"},
		"npy acceptance":    {badMagic, func(e map[string]any) { delete(e, "error") }, "refused: "},
		"npz acceptance":    {"npy/edge/truncated.npz", func(e map[string]any) { delete(e, "error"); e["arrays"] = map[string]any{} }, "refused: "},
		"must be supported": {text, func(e map[string]any) { delete(e, "unsupported_ok") }, "refused: "},
		"npz data":          {archive, inArchive(set("c_order_hex", "00")), "c_order_hex"},
		"npz dtype":         {archive, inArchive(set("dtype", "<f8")), "dtype"},
		"records count":     {records, set("num_records", json.Number("29")), "30 records, want 29"},
		"records options":   {records, set("writer_options_string", "x"), "options"},
		"row groups":        {parquet, set("row_groups", []any{json.Number("4"), json.Number("16")}), "row 4"},
		"batches":           {arrow, set("batches", []any{json.Number("6"), json.Number("14")}), "row 6"},
		"parquet refusal":   {parquet, set("error", []any{"E", "x"}), "want it refused"},
		"cut, accepted":     {cutFile, func(e map[string]any) { delete(e, "error") }, "PAR1"},
		"npz names":         {archive, func(e map[string]any) { delete(e["arrays"].(map[string]any), "a") }, "arrays"},
	} {
		code, out := conform("-suite", "formats", alteredFormat(t, c.file, c.change))
		switch {
		case c.want == "" && (code != 0 || lastLine(out) != "1 passed, 0 failed, 0 skipped"):
			t.Errorf("%s: exit %d\n%s", name, code, out)
		case c.want != "" && (code != 1 || !strings.Contains(out, "FAIL") || !strings.Contains(out, c.want) || lastLine(out) != "0 passed, 1 failed, 0 skipped"):
			t.Errorf("%s: exit %d, want a failure that says %q\n%s", name, code, c.want, out)
		}
	}
}

// An alteration of what all files of a family share is seen in each file.
func TestAlterationsOfSharedExpectations(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"columnar/parquet-none-v2.6-p1.0.parquet", `"s":"s1"`, `"s":"s2"`, "row 1, column s"},
		{"columnar/parquet-none-v2.6-p1.0.parquet", `"f":null`, `"f":0`, "row 0, column f"},
		{"columnar/arrow-zstd.arrow", `"l":[0,1,2]`, `"l":[0,1,3]`, "row 3, column l"},
		{"columnar/arrow-zstd.arrow", `"bo":true`, `"bo":false`, "row 0, column bo"},
		{"arrayrecord/group_size8-zstd3.array_record", `"payload_sha256":["e3`, `"payload_sha256":["e4`, "records"},
	} {
		dir := alteredFormat(t, c.file, func(map[string]any) {})
		family, _, _ := strings.Cut(c.file, "/")
		name := filepath.Join(dir, family, "expect.json")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), c.old) {
			t.Fatalf("%s has no %s", name, c.old)
		}
		writeFile(t, name, []byte(strings.Replace(string(b), c.old, c.new, 1)))
		code, out := conform("-suite", "formats", dir)
		if code != 1 || !strings.Contains(out, c.want) || lastLine(out) != "0 passed, 1 failed, 0 skipped" {
			t.Errorf("%s: exit %d, want a failure that says %q\n%s", c.new, code, c.want, out)
		}
	}
}

func TestFamiliesThatCannotBeJudged(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "README.md"), nil)
	writeFile(t, filepath.Join(dir, "surprise", "expect.json"), []byte(`{"files":[]}`))
	writeFile(t, filepath.Join(dir, "npy", "expect.json"), []byte(`{"surprise":1,"files":[{"size":1}]}`))
	writeFile(t, filepath.Join(dir, "npy", "stray.npy"), nil)
	writeFile(t, filepath.Join(dir, "safetensors", "expect.json"), []byte(`{"files":[]}`))
	code, out := conform("-suite", "formats", dir)
	for _, want := range []string{
		`FAIL surprise: unknown layout "surprise"`, "FAIL npy: unknown member surprise", "FAIL npy: an entry without file",
		"FAIL npy: no entry for stray.npy", "FAIL safetensors: no files", "0 passed, 5 failed, 0 skipped",
	} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d, want %q in\n%s", code, want, out)
		}
	}
}
