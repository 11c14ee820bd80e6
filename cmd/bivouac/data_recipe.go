package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline/recipe"
	"github.com/bivouac-ml/bivouac/recipes"
)

// RecipeOptions are the flags of `bivouac data recipe`.
type RecipeOptions struct {
	setOptions
	Set     []string
	Inputs  []string
	Samples int
	Times   int
	Classes int
	Cell    int
	Seed    uint64
	Output  string
}

func (o *RecipeOptions) addFlags(cmd *cobra.Command) {
	o.setOptions.addFlags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.Set, "set", nil,
		"setting of the recipe, `NAME=VALUE`, such as size=128; may be given several times")
	f.StringArrayVar(&o.Inputs, "input", nil,
		"`INPUT=COLUMN`: the column of the data that an input of the recipe takes; may be given several times")
	atLeast(f, &o.Samples, "samples", 1, 8, "samples of the data, from the first on")
	atLeast(f, &o.Times, "times", 1, 4, "how often each sample goes through the recipe, with other random numbers")
	atLeast(f, &o.Classes, "classes", 1, 0,
		"number of classes, for a recipe that mixes labels: makes numbers of classes to vectors")
	atLeast(f, &o.Cell, "cell", 8, 128, "height and width of a picture on the sheet")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the random numbers")
	f.StringVarP(&o.Output, "output", "o", "", "write a contact sheet to a new `FILE`, a PNG")
}

// ofData are the flags that need a data set.
var ofData = []string{"set", "input", "samples", "times", "classes", "cell", "seed", "output", "reader", "split", "arg"}

// recipeInfo is what `data recipe --json` prints of a recipe.
type recipeInfo struct {
	Name     string         `json:"name"`
	About    string         `json:"about"`
	Inputs   []string       `json:"inputs"`
	Outputs  []string       `json:"outputs"`
	Settings map[string]any `json:"settings"`
	Text     string         `json:"text,omitempty"` // of one recipe
}

func newDataRecipeCommand(g *global) *cobra.Command {
	var o RecipeOptions
	return with(&cobra.Command{
		Use:   "recipe [RECIPE [DATA]]",
		Short: "List recipes, print one, or show what one makes of a data set",
		Long: `List the recipes for images, print one, or show what one makes of the first samples of
a data set. RECIPE is a name of the list, or a file (.yaml) of your own.

With DATA, each sample goes through the recipe several times (--times), and each output
is printed: type, shape, least, mean and largest value. -o FILE writes a contact sheet: a
row for each sample, with the picture as it was and as the recipe made it. Outputs of
boxes are drawn as frames, masks in colours. What the recipe normalized has its colours
again; other numbers than uint8 are stretched, so that the least is black and the
largest white.

An input takes the column of its name. An input of pictures takes the only column that
has pictures. Partners are the next sample. --input INPUT=COLUMN names another column.

` + setHelp + exitCodesHelp,
		Example: `  bivouac data recipe                                  # the names of all recipes
  bivouac data recipe timm-train images -o sheet.png`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				for _, name := range ofData {
					if cmd.Flags().Changed(name) {
						return misused(cmd, "--"+name, "a data set to apply the recipe to", "none", "")
					}
				}
			}
			if len(args) == 0 {
				return g.listRecipes()
			}
			r, info, err := readRecipe(args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return g.show(info, func() { g.print(info.Text) })
			}
			return o.apply(cmd.Context(), g, r, info.Name, args[1])
		},
	}, o.addFlags, g.addJSON)
}

func (g *global) listRecipes() error {
	var list []recipeInfo
	width := 0
	for _, name := range recipes.Names() {
		_, info, err := readRecipe(name)
		if err != nil {
			return err
		}
		info.Text = ""
		list = append(list, info)
		width = max(width, len(name))
	}
	return g.show(list, func() {
		for _, info := range list {
			g.printf("%-*s  %s\n", width, info.Name, info.About)
			g.printf("%*s  of %s\n", width, "", strings.Join(info.Inputs, ", "))
		}
	})
}

// readRecipe returns the recipe of a name or of a file.
func readRecipe(name string) (r *recipe.Recipe, info recipeInfo, err error) {
	var text []byte
	if ext := strings.ToLower(filepath.Ext(name)); ext == ".yaml" || ext == ".yml" {
		if r, err = recipe.Read(name); err == nil {
			text, err = os.ReadFile(name)
		}
	} else if text, err = recipes.Text(name); err == nil {
		r, err = recipes.Get(name)
	}
	if err != nil {
		return nil, info, errs.Wrap("data", "", err)
	}
	return r, recipeInfo{Name: name, About: r.About(), Inputs: r.Inputs(), Outputs: r.Outputs(),
		Settings: r.Settings(), Text: string(text)}, nil
}

// settings returns the settings that --set gives.
func (o *RecipeOptions) settings(r *recipe.Recipe) (map[string]any, error) {
	known := slices.Sorted(maps.Keys(r.Settings()))
	set := map[string]any{}
	for _, text := range o.Set {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, badFlag("set", "NAME=VALUE", text, "")
		}
		if !slices.Contains(known, name) {
			return nil, badFlag("set "+name, "a setting of the recipe: "+strings.Join(known, ", "), "no such setting",
				errs.DidYouMean(name, known))
		}
		v, err := recipe.ParseValue(value)
		if err != nil {
			return nil, errs.Wrap("data", "--set "+name, err)
		}
		set[name] = v
	}
	return set, nil
}

// badFlag returns an error for a value of a flag that the recipe or the data refuse.
func badFlag(flag, want, got, remedy string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--" + flag, Want: want, Got: got, Remedy: remedy}
}

// columns returns for each input of the recipe the column that it takes.
func (o *RecipeOptions) columns(r *recipe.Recipe, names []string, pictures []string) ([]string, error) {
	chosen := map[string]string{}
	for _, text := range o.Inputs {
		input, column, ok := strings.Cut(text, "=")
		switch {
		case !ok:
			return nil, badFlag("input", "INPUT=COLUMN", text, "")
		case !slices.Contains(r.Inputs(), input):
			return nil, badFlag("input "+input, "an input of the recipe: "+strings.Join(r.Inputs(), ", "), "no such input",
				errs.DidYouMean(input, r.Inputs()))
		case !slices.Contains(names, column):
			return nil, badFlag("input "+input, "a column of the data: "+strings.Join(names, ", "), column,
				errs.DidYouMean(column, names))
		}
		chosen[input] = column
	}
	var list []string
	for _, input := range r.Inputs() {
		column, ok := chosen[input]
		for _, name := range alternatives(input) {
			if !ok && slices.Contains(names, name) {
				column, ok = name, true
			}
		}
		if !ok && len(pictures) == 1 && (r.Decodes(input) || input == "images" || input == "partners") {
			column, ok = pictures[0], true
		}
		if !ok {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "data", Subject: "input " + input,
				Want: "a column of that name, because the recipe takes " + strings.Join(r.Inputs(), ", "),
				Got:  "the columns " + strings.Join(names, ", "), Remedy: "--input " + input + "=COLUMN names another"}
		}
		list = append(list, column)
	}
	return list, nil
}

// alternatives returns the names of columns that an input takes without --input. Partners come from
// the columns of the samples.
func alternatives(input string) []string {
	list := []string{input}
	switch {
	case input == "partners":
		list = append(list, "images")
	case isPartner(input):
		list = append(list, strings.TrimPrefix(input, "partner_"))
	}
	last := list[len(list)-1]
	return append(list, strings.TrimSuffix(last, "s"), strings.TrimSuffix(last, "es"))
}

// isPartner reports whether an input takes the data of the next sample.
func isPartner(input string) bool { return strings.HasPrefix(input, "partner") }

// text returns one line about what a recipe made.
func (o recipeOutput) text() string {
	layout := ""
	if o.Layout != "" {
		layout = " " + o.Layout
	}
	if o.Elements == 0 {
		return fmt.Sprintf("%s%s%s  no elements", o.DType, shapeText(o.Shape), layout)
	}
	return fmt.Sprintf("%s%s%s  %.4g to %.4g, mean %.4g  sha256 %s", o.DType, shapeText(o.Shape), layout, o.Least, o.Most,
		o.Mean, o.SHA256[:16])
}
