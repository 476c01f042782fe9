# Completion of gatehouse for bash. Made by `gatehouse config dump-docs bash`.
_gatehouse()
{
	local words='' cur=${COMP_WORDS[COMP_CWORD]}
	case "${COMP_WORDS[*]:1:COMP_CWORD-1} " in
	'chat '*) words=' --message --session --home --config --log-level --verbose --help' ;;
	'run '*) words=' --home --config --log-level --verbose --help' ;;
	'backup '*) words=' --home --config --log-level --verbose --help' ;;
	'config check '*) words=' --effective --json --home --config --log-level --verbose --help' ;;
	'config path '*) words=' --home --config --log-level --verbose --help' ;;
	'config set '*) words=' --home --config --log-level --verbose --help' ;;
	'approvals list '*) words=' --json --home --config --log-level --verbose --help' ;;
	'approvals grants '*) words=' --json --home --config --log-level --verbose --help' ;;
	'approvals revoke '*) words=' --home --config --log-level --verbose --help' ;;
	'doctor '*) words=' --json --home --config --log-level --verbose --help' ;;
	'gate check '*) words=' --backend --json --stdin --workspace --user-home --cwd --home --config --log-level --verbose --help' ;;
	'sessions list '*) words=' --limit --json --home --config --log-level --verbose --help' ;;
	'sessions show '*) words=' --json --home --config --log-level --verbose --help' ;;
	'sessions export '*) words=' --format --output --home --config --log-level --verbose --help' ;;
	'sessions search '*) words=' --limit --json --home --config --log-level --verbose --help' ;;
	'sessions rename '*) words=' --home --config --log-level --verbose --help' ;;
	'sessions delete '*) words=' --yes --home --config --log-level --verbose --help' ;;
	'sessions prune '*) words=' --older-than --yes --home --config --log-level --verbose --help' ;;
	'sandbox list '*) words=' --json --home --config --log-level --verbose --help' ;;
	'sandbox prune '*) words=' --older-than --yes --home --config --log-level --verbose --help' ;;
	'sandbox exec '*) words=' --backend --session --timeout --network --home --config --log-level --verbose --help' ;;
	'sandbox put '*) words=' --backend --session --timeout --home --config --log-level --verbose --help' ;;
	'sandbox get '*) words=' --backend --session --timeout --home --config --log-level --verbose --help' ;;
	'status '*) words=' --json --home --config --log-level --verbose --help' ;;
	'version '*) words=' --home --config --log-level --verbose --help' ;;
	'config ') words=' check path set' ;;
	'approvals ') words=' list grants revoke' ;;
	'gate ') words=' check' ;;
	'sessions ') words=' list show export search rename delete prune' ;;
	'sandbox ') words=' list prune exec put get' ;;
	' ') words=' chat run backup config approvals doctor gate sessions sandbox status version --home --config --log-level --verbose --help' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _gatehouse gatehouse
