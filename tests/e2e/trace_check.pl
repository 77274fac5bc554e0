#!/usr/bin/env perl
# Looks through what `strace -f -y` saw of a program with file tools, between two marks.
#
#   trace_check.pl TRACE ROOT BEGIN END [ALSO]
#
# The marks are paths that some call asks for. Every file that was opened, and every folder in which something was made, renamed or removed, must be
# beneath ROOT (or ALSO, where the program keeps its own). What the program starts (a process that has called execve) may besides read what programs
# need; the program itself may open /dev/null, for a command's standard input. Attempts that the system
# refused touch nothing, and a started program may look names up (stat, O_PATH). Prints each violation and the counts; exit 0 none, 1 some, 2 the trace cannot be judged.
use strict;
use warnings;

die "usage: trace_check.pl TRACE ROOT BEGIN END [ALSO]\n" unless @ARGV == 4 || @ARGV == 5;
my ($trace, $root, $begin, $end, $also) = @ARGV;
open(my $in, '<', $trace) or die "trace_check: $trace: $!\n";

# What a program that was started may read, and write; see src/io/confine.c.
my $system = qr{^/(?:usr|bin|sbin|lib|lib32|lib64|libx32)(?:/|$)|^/etc/(?:ld\.so\.cache|localtime)$
               |^/dev/(?:null|zero|full|random|urandom)$}x;

# Calls that change what a name means; their folders are in their descriptors or their paths.
my $changes = qr{^(?:rename|renameat|renameat2|unlink|unlinkat|mkdir|mkdirat|rmdir|link|linkat|symlink|symlinkat
                 |mknod|mknodat|truncate|chmod|fchmodat|fchmodat2|chown|lchown|fchownat|utimensat|setxattr|lsetxattr
                 |removexattr|mount|umount2|chroot|creat)$}x;

my (%unfinished, %started);
my ($is_on, $saw_end, $n_opened, $n_changed, $n_refused, $n_bad) = (0, 0, 0, 0, 0, 0);

while (my $line = <$in>) {
    chomp $line;
    my ($pid, $rest) = $line =~ /^(\d+)\s+(.*)$/ or next;
    if ($rest =~ /^(.*) <unfinished \.\.\.>$/) {
        $unfinished{$pid} = $1;
        next;
    }
    if ($rest =~ /^<\.\.\. \w+ resumed>(.*)$/) {
        $rest = (delete $unfinished{$pid} // '') . $1;
    }
    my ($call, $args, $result) = $rest =~ /^(\w+)\((.*)\)\s+= (.*)$/ or next;
    if (index($args, "\"$begin\"") >= 0) { $is_on = 1; next }
    if (index($args, "\"$end\"") >= 0) { ($is_on, $saw_end) = (0, 1); next }
    $started{$pid} = 1 if $call =~ /^execve/ && $result =~ /^0/ && $is_on;
    judge($line, $pid, $call, $args, $result) if $is_on;
}
unless ($saw_end) {
    print "trace_check: the trace has no end mark\n";
    exit 2;
}
print "trace_check: $n_opened opened, $n_changed changed, $n_refused refused, $n_bad outside the root\n";
exit($n_bad ? 1 : 0);

sub is_beneath
{
    my ($path) = @_;
    return $path eq $root || index($path, "$root/") == 0 || (defined $also && index("$path/", "$also/") == 0);
}

sub judge
{
    my ($line, $pid, $call, $args, $result) = @_;

    if ($result =~ /^-1/) {
        $n_refused++;
    } elsif ($call =~ /^(?:open|openat|openat2|creat|open_by_handle_at)$/) {
        my ($path) = $result =~ /^\d+<(.*?)(?:<[^<>]*>)?(?:\(deleted\))?>$/;

        $n_opened++;
        $path = defined $path ? $path : '?';
        $path =~ s/ \(deleted\)$//;
        # O_PATH is a name that was looked up, as stat does: neither content nor entries can be had through it.
        my $is_fine = is_beneath($path) || $path eq '/dev/null'
            || ($started{$pid} && ($path =~ $system || $args =~ /\bO_PATH\b/));
        bad($line) unless $is_fine;
    } elsif ($call =~ $changes) {
        $n_changed++;
        # A folder for each path: "name" in it; an absolute path, or one from the working folder, is judged itself.
        my @folders = $args =~ /(?:\d+|AT_FDCWD)<([^>]*)>/g;
        my @absolute = $args =~ /"(\/[^"]*)"/g;
        bad($line) if !@folders && !@absolute && $args !~ /^"[^"\/]*"/;
        bad($line) if grep { !is_beneath($_) } @folders, @absolute;
    }
}

sub bad
{
    my ($line) = @_;
    $n_bad++;
    print "trace_check: outside: $line\n";
}
