// Package recipes has pipelines of well-known libraries as definitions in YAML, in the form that
// package pipeline/recipe reads. The README of the folder says what each equals and what it does
// not.
//
//	r, err := recipes.Get("torchvision-train-rand")
//	images := r.Append(b, map[string]any{"size": 176}, files)
package recipes

import (
	"embed"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline/recipe"
)

//go:embed *.yaml
var files embed.FS

const extension = ".yaml"

// Names returns the names of all recipes, in alphabetical order.
func Names() []string {
	entries, _ := files.ReadDir(".") // which is embedded
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), extension)
	}
	slices.Sort(names)
	return names
}

// Get returns the recipe called name.
func Get(name string) (*recipe.Recipe, error) {
	b, err := text("recipes.Get", name)
	if err != nil {
		return nil, err
	}
	r, err := recipe.Parse(b)
	return r, errs.Wrap("recipes.Get", name, err)
}

// Text returns the YAML of the recipe called name.
func Text(name string) ([]byte, error) { return text("recipes.Text", name) }

func text(what, name string) ([]byte, error) {
	b, err := files.ReadFile(name + extension)
	if err != nil {
		return nil, &errs.Error{Kind: errs.NotFound, Op: what, Subject: name, Want: strings.Join(Names(), ", "),
			Remedy: nearest(name)}
	}
	return b, nil
}

// nearest suggests the name that was meant. The beginning of one name, or its end, will do.
func nearest(name string) string {
	if remedy := errs.DidYouMean(name, Names()); remedy != "" {
		return remedy
	}
	var found []string
	for _, n := range Names() {
		if name != "" && (strings.HasPrefix(n, name) || strings.HasSuffix(n, name)) {
			found = append(found, n)
		}
	}
	if len(found) == 1 {
		return errs.DidYouMean(found[0], found)
	}
	return ""
}
