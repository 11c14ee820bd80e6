//go:build !bivouac_wheel

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

func newManCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "man [DIR]",
		Short: "Print the manual page, or write the pages of all commands to a directory",
		Long: `Print the manual page of bivouac as man reads it. With DIR write the pages of all
commands there, bivouac.1, bivouac-ls.1 and so on. Pages of these names are replaced.

` + exitCodesHelp,
		Example: `  bivouac man | man -l -
  bivouac man ~/.local/share/man/man1 && man bivouac-ls`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := g.stdout.Write(manPage(cmd.Root()))
				return err
			}
			return writeManPages(cmd.Context(), cmd.Root(), args[0])
		},
	}
}

// writeManPages writes the pages of a command and all below it.
func writeManPages(ctx context.Context, root *cobra.Command, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(abs)); err != nil {
		return unopened("man", filepath.Dir(dir), err) // a directory that is misspelled is not made
	}
	st, err := local.Open(abs, nil)
	if err != nil {
		return err
	}
	var write func(cmd *cobra.Command) error
	write = func(cmd *cobra.Command) error {
		if err := st.Put(ctx, manName(cmd)+".1", manPage(cmd), store.PutOptions{}); err != nil {
			return err
		}
		for _, sub := range manCommands(cmd) {
			if err := write(sub); err != nil {
				return err
			}
		}
		return nil
	}
	return write(root)
}

// manCommands returns the commands below a command that have pages.
func manCommands(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() || c.Name() == "help"
	})
}

// manName returns the name of a page, such as bivouac-data-ls.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the page of a command in the macros of man(7). It has no date, so that the same
// command gives the same bytes.
func manPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH \"%s\" 1 \"\" \"bivouac %s\" \"Bivouac\"\n", strings.ToUpper(manName(cmd)),
		roff(currentVersion().Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.CommandPath()))
	_, args, _ := strings.Cut(cmd.Use, " ")
	if cmd.HasAvailableSubCommands() && args == "" {
		args = "COMMAND"
	}
	if cmd.HasAvailableFlags() {
		args = strings.TrimSpace("[FLAGS] " + args)
	}
	fmt.Fprintf(&b, "%s\n.SH DESCRIPTION\n", roff(args))
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	text, status, hasStatus := strings.Cut(text, "Exit status: ")
	roffText(&b, text)
	if subs := manCommands(cmd); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(manName(sub)), roff(sub.Short))
		}
	}
	roffFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	roffFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		roffText(&b, cmd.Example)
	}
	if hasStatus {
		b.WriteString(".SH EXIT STATUS\n")
		roffText(&b, status)
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(cmd.Parent())))
	}
	return b.Bytes()
}

// roffFlags writes a section of flags.
func roffFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if first {
			fmt.Fprintf(b, ".SH %s\n", title)
			first = false
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := `\fB` + roff("--"+f.Name) + `\fP`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fP, ` + name
		}
		switch {
		case f.NoOptDefVal != "" && f.Value.Type() != "bool":
			name += `[=\fI` + roff(kind) + `\fP]`
		case kind != "":
			name += ` \fI` + roff(kind) + `\fP`
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
			usage += " (" + f.DefValue + " by default)"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(usage))
	})
}

// roffText writes paragraphs. Lines that begin with blanks keep their form.
func roffText(b *bytes.Buffer, text string) {
	block := false
	for line := range strings.Lines(strings.TrimSpace("\n"+text) + "\n") {
		line = strings.TrimRight(line, "\n ")
		indented := strings.HasPrefix(line, " ")
		switch {
		case line == "":
			if block {
				b.WriteString(".EE\n.RE\n")
				block = false
			}
			b.WriteString(".PP\n")
			continue
		case indented && !block:
			b.WriteString(".RS 2\n.EX\n")
			block = true
		case !indented && block:
			b.WriteString(".EE\n.RE\n")
			block = false
		}
		b.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
	}
	if block {
		b.WriteString(".EE\n.RE\n")
	}
}

// roff escapes a text of one line.
func roff(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '…':
			b.WriteString("...")
		case r > 0x7e:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
