(define (problem workshop-3)
  (:domain workshop)
  (:objects press1 press2 press3 press4 press5 press6 - machine
            screw1 screw2 screw3 screw4 screw5 screw6 - screw
            old1 old2 old3 old4 old5 old6 new1 new2 new3 new4 new5 new6 - filter
            locker1 locker2 locker3 - locker)
  (:init (shut locker1) (shut locker2) (shut locker3) (inside driver locker1) (inside puller locker3)
         (inside oilcan locker3) (running press1) (screwed screw1 press1) (covered press1)
         (fitted old1 press1) (inside new1 locker1) (dry new1) (running press2)
         (screwed screw2 press2) (covered press2) (fitted old2 press2) (inside new2 locker2)
         (dry new2) (running press3) (screwed screw3 press3) (covered press3) (fitted old3 press3)
         (inside new3 locker3) (dry new3) (running press4) (screwed screw4 press4) (covered press4)
         (fitted old4 press4) (inside new4 locker2) (dry new4) (running press5)
         (screwed screw5 press5) (covered press5) (fitted old5 press5) (inside new5 locker3)
         (dry new5) (running press6) (screwed screw6 press6) (covered press6) (fitted old6 press6)
         (inside new6 locker3) (dry new6))
  (:goal (and (fitted new1 press1) (running press1) (inside old1 locker1) (fitted new2 press2)
              (running press2) (inside old2 locker3) (fitted new3 press3) (running press3)
              (inside old3 locker1) (fitted new4 press4) (running press4) (inside old4 locker2))))
