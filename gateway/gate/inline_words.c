/* See inline_words.h. */
#include "gateway/gate/inline_words.h"

const char inline_py_modules[] = "json sys math re datetime collections "
	"itertools functools string textwrap statistics random time decimal "
	"fractions base64 hashlib platform struct unicodedata pprint typing "
	"dataclasses calendar uuid csv html urllib cmath heapq bisect enum "
	"binascii zlib difflib numbers array copy os ast colorsys tomllib yaml";
const char inline_py_denied[] = "exec eval compile getattr setattr delattr "
	"globals locals vars input breakpoint modules system popen spawn fork "
	"kill remove unlink rmdir removedirs rename renames rmtree chmod chown "
	"urlopen urlretrieve request Request subprocess shutil ctypes importlib "
	"builtins pty socket environ putenv open_code memoryview type object "
	"attrgetter methodcaller Popen execv execve execl execlp execvp startfile "
	"mkdir makedirs symlink link truncate write_text write_bytes codecs "
	"codeop runpy inspect gc settrace setprofile meta_path path_hooks "
	"unsafe_load full_load unsafe_load_all full_load_all Loader FullLoader "
	"UnsafeLoader CLoader CFullLoader CUnsafeLoader YAMLObject add_constructor";
/* Never fit to be imported, whatever is done with it. */
const char inline_py_risky[] = "subprocess shutil socket ctypes importlib builtins "
	"pty code types runpy codeop inspect gc multiprocessing threading asyncio "
	"signal pickle marshal shelve dbm http ftplib smtplib telnetlib xmlrpc "
	"webbrowser antigravity this tempfile glob pathlib fileinput mmap fcntl "
	"resource pwd grp termios tty sched ssl select selectors io operator "
	"posix posixpath nt paramiko fabric pexpect sh plumbum invoke psutil "
	"requests_html playwright selenium";
const char inline_py_os[] = "getcwd path listdir sep name cpu_count linesep "
	"curdir stat scandir walk";
const char inline_py_sys[] = "version version_info argv stdin stdout stderr "
	"path platform executable maxsize exit byteorder getsizeof "
	"implementation prefix base_prefix";
const char inline_node_allowed[] = "console log error warn JSON parse stringify "
	"Math max min floor ceil round abs pow sqrt random PI Date now toISOString "
	"Object keys values entries Array from map filter reduce join length "
	"String Number Boolean parseInt parseFloat toString toUpperCase "
	"toLowerCase split slice sort reverse trim includes indexOf repeat let "
	"const var for of in if else return null true false undefined new "
	"typeof isNaN NaN Infinity process version versions node v8 platform "
	"arch require scripts dependencies devDependencies name padStart "
	"padEnd Set Map size has get push pop toFixed while function i j k x y "
	"a b c n s e concat every some find isArray fill os path util cpus "
	"totalmem freemem hostname release type loadavg uptime basename dirname "
	"extname resolve inspect exit cwd memoryUsage";
const char inline_perl_allowed[] = "print printf say if unless else elsif and or "
	"not chomp chop lc uc lcfirst ucfirst length split join sprintf substr "
	"index reverse sort keys values each map grep my our scalar push shift "
	"pop next last for foreach while until BEGIN END eq ne lt gt le ge cmp "
	"x int abs sqrt hex oct ord chr defined exists sum max min tr y s m qw q "
	"qq NF NR a b wantarray sprintf strict warnings use List Util "
	"STDIN STDERR STDOUT exit";
const char inline_ruby_allowed[] = "puts print p each map select reject join "
	"split size length to_s to_i to_f times upto downto reverse sort uniq "
	"sum min max inject reduce if else end do unless nil true false x y i n "
	"a b e RUBY_VERSION upcase downcase strip include first last count "
	"require json JSON parse STDIN read pretty_generate gsub sub";
const char inline_php_allowed[] = "echo print phpversion PHP_VERSION PHP_EOL "
	"json_encode json_decode strlen count implode explode strtoupper "
	"strtolower date time PHP_OS PHP_INT_MAX var_dump print_r range "
	"array_sum array_map true false null if else foreach as for md5 sha1 "
	"phpinfo ini_get extension_loaded";
const char inline_lua_allowed[] = "print string format tostring tonumber math "
	"floor sqrt pi _VERSION for do end in pairs ipairs if then else local i "
	"x y n a b upper lower rep table concat";
