package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pages of this repository make a site: no link is dead, every page is in the list, and every
// error of the tables has what it says.
func TestSiteOfTheRepository(t *testing.T) {
	s, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.render()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "errors.html", "why.html", "guide/commands.html", "assets/index.js"} {
		if len(files[name]) == 0 {
			t.Errorf("no file %s", name)
		}
	}
	for name, b := range files {
		if strings.HasSuffix(name, ".html") && (strings.Contains(string(b), "src=\"http") ||
			strings.Contains(string(b), "rel=\"stylesheet\" href=\"http")) {
			t.Errorf("%s loads something from another server", name)
		}
	}
	if !strings.Contains(string(files["guide/commands.html"]), `href="../guide/fleets.html#watch"`) {
		t.Error("commands.html does not link the section of another page")
	}
	if got, page := strings.Count(string(files["errors.html"]), "<li>Remedy: "), s.pages[catalogueSource]; got < 50 ||
		got != strings.Count(string(page.text), "\n### ") {
		t.Errorf("%d remedies", got)
	}
	var sections []section
	text := strings.TrimSuffix(strings.TrimPrefix(string(files["assets/index.js"]), "window.searchIndex = "), ";\n")
	if err := json.Unmarshal([]byte(text), &sections); err != nil || len(sections) < 200 {
		t.Errorf("%d sections, %v", len(sections), err)
	}
	for _, sec := range sections {
		if sec.URL == "guide/fleets.html#what-names-runs" && !strings.Contains(sec.Text, "Argument Names runs/digits a run") {
			t.Errorf("the cells of a table run together: %.200s", sec.Text)
		}
		if name, _, _ := strings.Cut(sec.URL, "#"); files[name] == nil {
			t.Errorf("the search leads to %s, which is not there", sec.URL)
		}
	}
}

// The head of the catalogue has each kind of errors once, as package errs names them.
func TestCatalogueHasEveryKind(t *testing.T) {
	b, err := os.ReadFile("../../errs/errs.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(b), "kindNames = [...]string{")
	list, _, _ = strings.Cut(list, "}")
	var want []string
	for _, name := range strings.Split(list, ",") {
		if name = strings.Trim(strings.TrimSpace(name), `"`); name != "" && name != "error" {
			want = append(want, name)
		}
	}
	if got := errorKinds(); len(want) < 10 || strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("the catalogue has %q, package errs %q", got, want)
	}
}

// make writes a small repository.
func repositoryOf(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{"README.md": "# Home\n\n[docs](docs/README.md)\n",
		"docs/README.md": "# Pages\n\n- Start: [one](one.md)\n", "docs/one.md": "# One\n\n## Its part\n\n[x](#its-part)\n"}
	for _, table := range mistakeTables {
		all[table.file+".json"], all[table.file+"_told.json"] = "[]", "{}"
	}
	all["checkpoint/testdata/mistakes.json"] = `[{"mistake": "a *call*", "bivouac": "invalid"},
		{"mistake": "b", "bivouac": "ok"}]`
	all["checkpoint/testdata/mistakes_told.json"] = `{"a *call*": {"kind": "invalid", "want": "x", "got": "<y>",
		"text": "t"}}`
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// What is wrong with the pages fails the build, with its place.
func TestWrongPages(t *testing.T) {
	compat := map[string]string{"docs/compat/mistakes.md": "# M\n",
		"docs/README.md": "# Pages\n\n- Start: [one](one.md), [m](compat/mistakes.md)\n"}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing": {nil, ""},
		"dead link": {map[string]string{"docs/one.md": "# One\n[x](two.md)\n"},
			"docs/one.md: two.md: dead link: no such file"},
		"dead picture":   {map[string]string{"docs/one.md": "# One\n![x](x.png)\n"}, "x.png: dead link"},
		"dead anchor":    {map[string]string{"docs/one.md": "# One\n[x](#two)\n"}, "#two: dead link: no such heading"},
		"another anchor": {map[string]string{"docs/one.md": "# One\n[x](README.md#two)\n"}, "docs/README.md has pages"},
		"out of it":      {map[string]string{"docs/one.md": "# One\n[x](../../y.md)\n"}, "leads out of the repository"},
		"not listed":     {map[string]string{"docs/two.md": "# Two\n"}, "got none to docs/two.md"},
		"no heading":     {map[string]string{"docs/one.md": "text\n"}, "docs/one.md: want a heading"},
		"unheard error": {map[string]string{"checkpoint/testdata/mistakes_told.json": "{}"},
			`"a *call*": want the error that was recorded`},
		"another kind": {map[string]string{"checkpoint/testdata/mistakes_told.json": `{"a *call*": {"kind": "corrupt"}}`},
			"of kind invalid, got \"corrupt\""},
		"stale error": {map[string]string{"checkpoint/testdata/mistakes.json": "[]"}, "want a row of"},
	} {
		files := map[string]string{}
		for k, v := range compat {
			files[k] = v
		}
		for k, v := range c.files {
			files[k] = v
		}
		_, err := read(repositoryOf(t, files))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A site replaces an older site, and no other directory. After a failure the old site is whole.
func TestBuildReplacesOnlySites(t *testing.T) {
	root := repositoryOf(t, map[string]string{"docs/compat/mistakes.md": "# M\n",
		"docs/README.md": "# Pages\n\n- Start: [one](one.md), [m](compat/mistakes.md)\n"})
	out := filepath.Join(t.TempDir(), "site")
	for range 2 {
		if err := build(root, out); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "one.md"), []byte("# One\n[x](gone.md)\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := build(root, out); err == nil {
		t.Error("a dead link did not fail the build")
	}
	b, err := os.ReadFile(filepath.Join(out, "errors.html"))
	if err != nil || !strings.Contains(string(b), "a *call*") || !strings.Contains(string(b), "got &lt;y&gt;") {
		t.Errorf("%v: %s", err, b)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "mine"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := build(root, other); err == nil || !strings.Contains(err.Error(), "want a site or an empty directory") {
		t.Errorf("%v", err)
	}
}

// Anchors are as GitHub makes them.
func TestSlug(t *testing.T) {
	for words, want := range map[string]string{
		"Verify at night": "verify-at-night", "Pipelines of DALI here, and ours in DALI": "pipelines-of-dali-here-and-ours-in-dali",
		"`data.yaml`: what?": "datayaml-what", "A_b-c": "a_b-c",
	} {
		if got := slug(strings.ReplaceAll(words, "`", "")); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
