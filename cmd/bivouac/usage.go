package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bivouac-ml/bivouac/errs"
)

// usageError marks an error of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// misused returns the usage error of a command. Without another remedy it points to the help.
func misused(cmd *cobra.Command, subject, want, got, remedy string) error {
	if remedy == "" {
		remedy = cmd.CommandPath() + " --help"
	}
	op := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()), " ")
	return usageError{&errs.Error{Kind: errs.Invalid, Op: op, Subject: subject, Want: want, Got: got, Remedy: remedy}}
}

// flagError rewords an error of the flag library.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
		syntax  *pflag.InvalidSyntaxError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return misused(cmd, "-"+unknown.GetSpecifiedShortnames(), "a flag of this command", "no such flag", "")
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		remedy := ""
		if near := errs.Nearest(name, flagNames(cmd)); near != "" {
			remedy = "did you mean --" + near + "?"
		} else if name == "version" {
			remedy = cmd.Root().Name() + " --version"
		}
		return misused(cmd, "--"+name, "a flag of this command", "no such flag", remedy)
	case errors.As(err, &missing):
		return misused(cmd, "--"+missing.GetFlag().Name, valueWanted(missing.GetFlag()), "nothing", "")
	case errors.As(err, &invalid):
		want, got := valueWanted(invalid.GetFlag()), strconv.Quote(invalid.GetValue())
		var e *errs.Error
		if errors.As(invalid.Unwrap(), &e) && e.Want != "" {
			want = e.Want
		} else if errors.Is(err, strconv.ErrRange) {
			got += ", which is out of range"
		}
		return misused(cmd, "--"+invalid.GetFlag().Name, want, got, "")
	case errors.As(err, &syntax):
		return misused(cmd, syntax.GetSpecifiedFlag(), "a flag, such as --json", "something else", "")
	}
	return usageError{err}
}

// valueWanted describes the value of a flag in words.
func valueWanted(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int64":
		if w, ok := f.Value.(interface{ want() string }); ok {
			return w.want()
		}
		return "a whole number"
	case "uint64":
		return "a whole number of at least 0"
	case "bool":
		return "true or false"
	case "string":
		return "a value"
	}
	return "a value, " + f.Value.Type()
}

func flagNames(cmd *cobra.Command) (names []string) {
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return names
}

// markUsage makes wrong arguments usage errors, for the exit status, and adds the usage of the
// command.
func markUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return argumentsError(c, args)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markUsage(sub)
	}
}

// checkCommand returns an error for a command that does not exist, whatever flags follow. The flag
// library would show the help of the parent command, as a success.
func checkCommand(root *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == "help" {
		args = args[1:]
	}
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(args)
	if err != nil || len(rest) == 0 || !cmd.HasAvailableSubCommands() || strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], cobra.ShellCompRequestCmd) {
		return nil //nolint:nilerr // Execute returns the error
	}
	return argumentsError(cmd, rest)
}

// argumentsError returns the error for arguments that a command refused.
func argumentsError(cmd *cobra.Command, args []string) error {
	if cmd.HasAvailableSubCommands() {
		remedy := errs.DidYouMean(args[0], commandNames(cmd))
		if same, ok := words[args[0]]; ok && !cmd.HasParent() {
			remedy = "did you mean " + strconv.Quote(same) + "?"
		}
		return misused(cmd, strconv.Quote(args[0]), "a command", "no such command", remedy)
	}
	if len(cmd.ValidArgs) > 0 && len(args) == 1 {
		return misused(cmd, strconv.Quote(args[0]), "one of "+strings.Join(cmd.ValidArgs, ", "),
			"another word", errs.DidYouMean(args[0], cmd.ValidArgs))
	}
	_, want, _ := strings.Cut(cmd.Use, " ")
	if want == "" {
		want = "no arguments"
	}
	got := fmt.Sprint(len(args), " arguments")
	switch len(args) {
	case 0:
		got = "no arguments"
	case 1:
		got = "only " + strconv.Quote(args[0])
	}
	if cmd.Args != nil && want == "no arguments" {
		got = strconv.Quote(args[0])
	}
	remedy := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if len(args) > 1 && f.NoOptDefVal != "" && f.Value.Type() != "bool" {
			remedy = "the value of --" + f.Name + " follows a =, as in --" + f.Name + "=" + f.NoOptDefVal
		}
	})
	return misused(cmd, "", want, got, remedy)
}

// strayValue returns the error for a value that was given to a flag with an optional value without
// a =, and that is an argument therefore.
func strayValue(cmd *cobra.Command, args []string, flag string) error {
	f := cmd.Flags().Lookup(flag)
	if !f.Changed {
		return nil
	}
	for _, arg := range args {
		if _, err := strconv.ParseFloat(arg, 64); err != nil {
			continue
		}
		if _, err := place(arg).isDirectory(cmd.Context()); errs.KindOf(err) == errs.NotFound {
			return misused(cmd, strconv.Quote(arg), "a path", "a number that is no path",
				"the value of --"+f.Name+" follows a =, as in --"+f.Name+"="+arg)
		}
	}
	return nil
}

// words maps commands of other programs to the commands here that do the same.
var words = map[string]string{
	"list": "ls", "dir": "ls", "steps": "ls", "describe": "info", "inspect": "info", "metadata": "info", "tree": "info",
	"check": "verify", "fsck": "verify", "validate": "verify", "compare": "diff", "fix": "repair", "clean": "repair",
	"forget": "prune", "gc": "prune", "thin": "prune", "expire": "prune", "remove": "rm", "delete": "rm", "del": "rm",
	"pin": "protect", "lock": "protect", "keep": "protect", "label": "tag", "size": "du", "usage": "du", "mirror": "sync", "rsync": "sync",
	"print": "cat", "export": "extract", "copy": "cp", "rename": "surgery", "edit": "surgery", "operators": "ops", "loader": "data",
	"kill": "crashtest", "chaos": "crashtest", "monitor": "watch", "alert": "watch",
	"diagnose": "doctor", "health": "doctor", "env": "doctor", "crash": "crashtest", "test": "crashtest",
}

// commandNames returns the names that a user may have meant as a command.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// wanted is a value of a flag that must be a whole number in some range.
type wanted[T int | int64] struct {
	to    *T
	least T
	given bool
}

// Set implements pflag.Value.
func (w *wanted[T]) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < int64(w.least) || int64(T(n)) != n {
		return &errs.Error{Kind: errs.Invalid, Want: w.want(), Got: strconv.Quote(s)}
	}
	*w.to, w.given = T(n), true
	return nil
}

func (w *wanted[T]) want() string { return fmt.Sprint("a whole number of at least ", w.least) }

// String implements pflag.Value. It returns "" for a value that the user cannot give.
func (w *wanted[T]) String() string {
	if w.to == nil || !w.given && *w.to < w.least {
		return ""
	}
	return fmt.Sprint(*w.to)
}

// Type implements pflag.Value.
func (w *wanted[T]) Type() string { return "int" }

// atLeast declares a flag for a whole number of at least least. Its default may be smaller: then it
// means that the flag was not given.
func atLeast[T int | int64](f *pflag.FlagSet, to *T, name string, least, value T, usage string) {
	*to = value
	f.Var(&wanted[T]{to: to, least: least}, name, usage)
}
