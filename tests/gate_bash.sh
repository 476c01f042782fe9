#!/bin/bash
# Real Bash as an oracle: what it would run for a generated script must be among
# the commands that the gate saw, or the verdict must not be allow.  Nothing is
# run: PATH leads nowhere and command_not_found_handle writes down the words.
# SEED=n repeats a run, SCRIPTS=n (or SOAK=1) sets how many.
set -u
export LC_ALL=C
gatehouse=$(cd "${TOP_BUILDDIR:-.}" && pwd)/gatehouse
bash=$(command -v bash) || { echo "1..0 # SKIP no bash"; exit 0; }
timeout=$(command -v timeout)
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
seed=${SEED:-4711}
count=${SCRIPTS:-${SOAK:+20000}}
count=${count:-400}
RANDOM=$((seed % 32768))
echo "# SEED=$seed SCRIPTS=$count"

# Harmless names, so that allow is possible; one that never is allowed alone.
names=(ls wc id stat du uname cut rm)
pick() { eval "r=\${$1[RANDOM % \${#$1[@]}]}"; }
gen_word() {
	local w=(a b c1 x.y "'q r'" '"d e"' '$v' '"$v"' '${v}' '${u:-dflt}' "\$'e\\x41'"
		'{p,q}' 'a\ b' '$(id i1)' '"$(uname s)"' '`stat t`' '$((1 + 2))' "'#'"
		'a#b' '"a'\''b"' '${v%l}' '"${u:-"n m"}"' '<(du p)' '~' '$'"'"'\n'"'"
		'${#v}' '"$(wc "$(cut in)")"' "''" '$nope' '"a;rm b"' "'\$(rm c)'" '\$v'
		'${p%/*}' '"${p##*/}"' '${p%.*}' '${p%%.*}' '${p#*/}' '${p%.c}.o' '${p/c/$(id r)}'
		'${v:0:$(id s)}' '"${two[@]}"' '${two[1]}' '"${two[*]}"' '${#two[@]}' '"$@"' '$*'
		'$(( $(id n) + 1 ))' $'"x\\\ny"' $'a\\\nb' '~/d' '{1..3}' '{a,b{c,d}}x' '$"loc"'
		$'$(cat <<Q\nz $(uname q) `id "k l"`\nQ\n)' $'"$(cat <<\'Q\'\n$(rm q) \'\nQ\n)"' '@(a|b)'
		'"$(echo "$(id "q r")" \"x\")"' '`echo \`stat i\``' '"`du \"a b\"`"' 'x=~/y' '"${u:+"a $(rm n)"}"'
		'"${u:-$(id "${v:-"z}"}")}"' '!x' '[a-b]*' '\[' '"$'"'"'q'"'"'"' 'a=b' '%1' '-n' '--' '2' '$$x')
	r=${w[RANDOM % ${#w[@]}]}
}
gen_name() {
	local spell=(plain quoted part escaped var subst ansi)
	pick names; local n=$r
	case ${spell[RANDOM % 10 % 7]} in
	quoted) r="'$n'";;
	part) r="${n:0:1}\"${n:1}\"";;
	escaped) r="\\$n";;
	var) r="\$cmd";;
	subst) r="\$(echo $n)";;
	ansi) r="\$'\\x$(printf %02x "'${n:0:1}")${n:1}'";;
	*) r=$n;;
	esac
}
gen_simple() {
	gen_name; local s=$r i
	for ((i = RANDOM % 3; i > 0; i--)); do gen_word; s+=" $r"; done
	case $((RANDOM % 22)) in
	8) s="k=\$(id pre) m=\"\`stat p\`\" $s";;
	9) s=${s/ / \\$'\n' };;
	10) s+=$' <<A <<-B\n$(uname a1)\nA\n\t`id b1`\n\tB\n';;
	11) s+=" 2> /dev/null <(id ps)";;
	12) s="command $s";;
	13) s="time -p $s";;
	14) s+=" > \"\$(echo /dev/null)\"";;
	15) s+=" {fd}>&1 5>&-";;
	0) s="k=1 $s";;
	1) s+=" 2>&1";;
	2) s+=" > /dev/null";;
	3) s+=" <<< \"\$(id here)\"";;
	4) s+=$' <<E\ntext $(uname doc) `id bt` "\nE\n';;
	5) s+=$' <<\'E\'\ntext $(rm doc)\nE\n';;
	6) s="! $s";;
	7) s+=" # rm comment"$'\n';;
	esac
	r=$s
}
gen_cmd() {	# DEPTH
	local d=$1 a b
	if ((d <= 0)); then gen_simple; return; fi
	case $((RANDOM % 60)) in
	0) gen_cmd $((d - 1)); a=$r; gen_cmd $((d - 1)); r="$a"$'\n'"$r";;
	1) gen_cmd $((d - 1)); a=$r; gen_cmd 0; r="$a"$'\n'"$r | $r";;
	2) gen_simple; a=$r; gen_simple; r="${a%$'\n'}"$'\n'"{ $r"$'\n'"} && id and || id or";;
	3) gen_cmd $((d - 1)); r="( $r"$'\n'")";;
	4) gen_cmd $((d - 1)); r="{ $r"$'\n'"}";;
	5) gen_cmd $((d - 1)); r="if id t"$'\n'"then $r"$'\n'"else id e; fi";;
	6) gen_cmd $((d - 1)); r="for v in one two"$'\n'"do $r"$'\n'"done";;
	7) gen_cmd $((d - 1)); r="case x in y) id no;; x|z) $r"$'\n'";; esac";;
	8) gen_cmd $((d - 1)); r="fn() { $r"$'\n'"}; fn";;
	9) gen_simple; a=${r//\'/\'\\\'\'}; r="eval '$a'";;
	10) pick names; r="cmd=$r; \$cmd w";;
	11) gen_cmd $((d - 1)); r="v=\$($r"$'\n'")";;
	12) gen_cmd $((d - 1)); r="while id cond && false; do $r"$'\n'"done";;
	13) gen_cmd $((d - 1)); r="[[ a == a ]] && { $r"$'\n'"}";;
	14) gen_cmd $((d - 1)); r="((1)) && { $r"$'\n'"}";;
	15) pick names; r="set -- $r s1; \"\$@\"";;
	16) pick names; r="${r}_f() { $r inner \"\$1\"; }; ${r}_f given";;
	17) gen_word; r="for w in $r; do ls \"\$w\"; done";;
	18) pick names; r="{$r,br1,br2}";;
	19) pick names; a=$r; r="arr=($a el); \"\${arr[@]}\"";;
	20) gen_word; a=$r; r="ls \"\${nope:-$a}\"; ls \${nope+x} ${a}";;
	21) r="trap 'id trapped' EXIT; ls trap";;
	22) gen_cmd $((d - 1)); r="select s in a b; do $r"$'\n'"break; done";;
	23) gen_cmd $((d - 1)); r="coproc { $r"$'\n'"} < /dev/null; wait";;
	24) gen_cmd $((d - 1)); r="function fk { $r"$'\n'"} > /dev/null; fk a";;
	25) gen_cmd $((d - 1)); r="until id stop || true; do $r"$'\n'"done";;
	26) gen_cmd $((d - 1)); r="for ((i = 0; i < 2; i++)); do $r"$'\n'"done";;
	27) gen_word; r="(( n = 1 + 0$(printf %d $((RANDOM % 9))) )); id \$n $r";;
	28) gen_cmd $((d - 1)); a=$r; gen_simple; r="case ab in a*) $a"$'\n'";& q) $r"$'\n'";;& *b) id last;; esac";;
	29) gen_word; r="two_f() { shift; ls \"\$@\" \$#; }; two_f 1 $r";;
	30) gen_cmd $((d - 1)); r="ls \$(cat <<Z"$'\n'"\$($r"$'\n'")"$'\n'"Z"$'\n'")";;
	31) gen_cmd $((d - 1)); r="printf 'a\\nb\\n' | while read -r l; do $r"$'\n'"done";;
	32) gen_cmd 0; a=${r%$'\n'}; r="[[ -n \$($a"$'\n'") || x == y ]] && id t";;
	33) gen_cmd $((d - 1)); a=$r; gen_simple; r="{ $a"$'\n'"} 2>&1 | $r";;
	34) gen_word; r="args='a b'; ls \$args $r";;
	35) pick names; r="lf() { local c=$r k; \$c in; k=\$(id sub); }; lf";;
	36) pick names; a=$r; r="\${nocmd:-$a} w; \"\${nocmd-$a}\" w2";;
	37) gen_cmd 0; a=${r//\'/\'\\\'\'}; a=${a//\'/\'\\\'\'}; r="eval 'eval '\\''$a'\\'''";;
	38) pick names; a=$r; r="c2=$a; c3=\$c2; \"\$c3\" x; c4='$a y z'; \$c4";;
	39) pick names; r="f=$r.c; \${f%.c} t; g=d/$r; \${g##*/} t";;
	40) gen_word; r="for q in a.c d/e.c; do ls \"\${q%.c}.o\" \${q##*/} $r; done";;
	41) gen_cmd $((d - 1)); r="( $r"$'\n'") & wait";;
	42) gen_simple; a=$r; gen_simple; r="if ! $a"$'\n'"then :; elif [ x ]; then $r"$'\n'"fi";;
	43) pick names; r="rec() { [ \"\$1\" = 0 ] || { $r \$1; rec 0; }; }; rec 1";;
	44) gen_cmd $((d - 1)); r="declare z=\$($r"$'\n'"); export y=\"\$z\"";;
	45) gen_word; a=$r; r="map=([k]=$a [\$(id ix)]=2); ls \"\${map[@]}\"";;
	46) gen_cmd $((d - 1)); r="while false; do :; done < <($r"$'\n'")";;
	47) pick names; r="IFS=:; c5=$r:a; \$c5";;
	48) pick names; a=$r; gen_word; r="($a() { tty in; }); $a $r";;
	49) pick names; a=$r; gen_word; r="false && $a() { tty in; }; $a $r";;
	50) pick names; a=$r; gen_word; r="$a() { tty in \"\$1\"; }; $a f; unset -f $a; $a $r";;
	51) pick names; a=$r; gen_word; r="$a() { tty in; }; command $a $r; $a | cat";;
	52) pick names; a=$r; r="c6=uname; $bash -c '\$c6 $a x' ; $bash -c \"\$c6 $a y\"";;
	53) pick names; a=$r; gen_word; r="$a() { tty in; }; $bash -c '$a x'; $a $r";;
	54) pick names; a=$r; r="if wc c; then $a() { tty in; }; fi; $a out";;
	55) pick names; a=$r; r="false && c7=uname || \$c7 $a x; c8=$a; false || c8=id; \$c8 y";;
	56) pick names; a=$r; r="$a() { $a() { tty second; }; tty first; }; $a; $a";;
	57) pick names; a=$r; r="c9=$a; read c9 <<< uname; \$c9 x; REPLY=wc; read <<< $a; \$REPLY y";;
	58) pick names; a=$r; gen_word; r="set -- $a q; $bash -c '\$1 x' _ id; \"\$@\" $r";;
	59) pick names; a=$r; r="$bash <<'S'\n$a s \"\$v\"\nS\n"; r=${r//'\n'/$'\n'};;
	esac
}

escape() {	# for --stdin
	r=${1//\\/\\\\}; r=${r//$'\n'/\\n}; r=${r//$'\t'/\\t}
}

for ((i = 0; i < count; i++)); do
	gen_cmd $((RANDOM % 4)); scripts[i]="v=val p=d/e.c two=(t1 \"t 2\"); $r"
	escape "${scripts[i]}"; printf '%s\n' "$r"
done > "$tmp/in"
"$gatehouse" gate check --stdin --workspace "$tmp/w" --user-home "$tmp" \
	< "$tmp/in" > "$tmp/out" || exit 99

# What the log holds, <a><b c>, the way that the gate shows it: a 'b c'
as_shown() {
	local rest=${1#<} word out=
	rest=${rest%>}
	while :; do
		word=${rest%%><*}
		case $word in
		'' | *[\ \'\"\\\$\`\;\&\|\<\>\(\){}#\!~*?\[\]]*) word="'${word//\'/\'\\\'\'}'";;
		esac
		out+=" $word"
		[[ $rest == *'><'* ]] || break
		rest=${rest#*><}
	done
	r=${out# }
}
# The gate's commands as patterns; what it couldn't know matches anything.
seen_patterns() {
	local list=${1#[} one
	list=${list%%]\}}; list=${list%%],\"always*}; list=${list%]}
	list=${list//'","'/$'\x01'}; list=${list#\"}; list=${list%\"}
	patterns=()
	while :; do
		one=${list%%$'\x01'*}
		one=${one//'\n'/'~'}; one=${one//'\"'/'"'}; one=${one//'\\'/'\'}
		one=${one//'\'/'\\'}; one=${one//'['/'\['}
		one=${one//' <any>'/'*'}; one=${one//' <name>'/'*'}
		one=${one//'<any>'/'*'}; one=${one//'<name>'/'*'}
		patterns+=("$one")
		[[ $list == *$'\x01'* ]] || break
		list=${list#*$'\x01'}
	done
}

log_it='command_not_found_handle() { local a l=; for a; do l+="<$a>"; done; l=${l//$'"'\\n'"'/\~}; builtin printf "%s\n" "$l" >> "$LOG"; builtin printf "rm out\n"; }; export -f command_not_found_handle; cat() { local l; builtin printf "<cat>\n" >> "$LOG"; while IFS= builtin read -r l || [[ -n $l ]]; do builtin printf "%s\n" "$l"; done; }; '
mkdir -p "$tmp/w"
bad=0 allowed=0 ran=0
i=0
while IFS= read -r json; do
	script=${scripts[i]}; i=$((i + 1))
	case $json in '{"verdict":"allow"'*) ;; *) continue;; esac
	allowed=$((allowed + 1))
	log=$tmp/log.$i	# its own: <( ) may still write when the next runs
	: > "$log"
	(cd "$tmp/w" && LOG=$log HOME=$tmp PATH=/nonexistent FUNCNEST=30 \
		"$timeout" 60 "$bash" --norc -c "$log_it$script" </dev/null >/dev/null 2>&1)
	seen_patterns "${json##*\"commands\":}"
	while IFS= read -r line; do
		ran=$((ran + 1))
		line=${line//\/dev\/fd\/6[0-9]/\/dev\/fd\/63}	# all are shown as the first
		as_shown "$line"
		for p in "${patterns[@]}"; do
			# shellcheck disable=SC2053 # a pattern on purpose
			[[ $r == $p ]] && continue 2
		done
		bad=$((bad + 1))
		printf '# not seen: %s\n# in: %q\n' "$r" "$script"
		printf '#   saw %s\n' "${patterns[@]}"
	done < "$log"
done < "$tmp/out"
echo "# $allowed of $count allowed, $ran commands run by bash"
echo 1..2
if ((bad == 0)); then echo "ok 1 - what bash runs is what the gate saw"
else echo "not ok 1 - what bash runs is what the gate saw ($bad)"; fi
if ((allowed * 5 > count && ran > count / 4)); then echo "ok 2 - enough scripts were allowed to mean something"
else echo "not ok 2 - enough scripts were allowed to mean something"; fi
