#!/bin/sh
# install_docs.sh PROGRAM DATA: writes manual pages and shell completions below DATA (PREFIX/share).
set -eu
program=$1
data=$2
man=$data/man/man1
mkdir -p "$man" "$data/bash-completion/completions" "$data/zsh/site-functions" \
	"$data/fish/vendor_completions.d"
"$program" completion man >"$man/inferscope.1"
for command in $("$program" completion commands); do
	"$program" completion man "$command" >"$man/inferscope-$command.1"
done
"$program" completion bash >"$data/bash-completion/completions/inferscope"
"$program" completion zsh >"$data/zsh/site-functions/_inferscope"
"$program" completion fish >"$data/fish/vendor_completions.d/inferscope.fish"
