// Package recipes has pipelines of well-known libraries as definitions in YAML, in the form that
// package pipeline/recipe reads. The README of the folder says what each equals and what it does
// not.
//
//	r, err := recipes.Get("torchvision-train-rand")
//	images := r.Append(b, map[string]any{"size": 176}, files)
package recipes

import (
	"embed"
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
	return names
}

// Get returns the recipe called name.
func Get(name string) (*recipe.Recipe, error) {
	b, err := files.ReadFile(name + extension)
	if err != nil {
		return nil, &errs.Error{Kind: errs.NotFound, Op: "recipes.Get", Subject: name, Want: strings.Join(Names(), ", "),
			Remedy: errs.DidYouMean(name, Names())}
	}
	r, err := recipe.Parse(b)
	return r, errs.Wrap("recipes.Get", name, err)
}
